import { type PriceTable, streamTranscript } from '@recount/core';
import {
  completeTranscript,
  createTranscriptWriter,
  type Database,
  deleteTranscriptRows,
  findNextUsageNumbers,
  findTranscript,
  listTranscripts,
  lockSession,
  settleSession,
  supersedeTranscripts,
  type TranscriptRow,
} from '@recount/db';
import type { RawStore } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { readWorkspacePrices } from '../prices/read-workspace-prices.ts';
import { hashPrefixes } from './hash-prefixes.ts';
import { findBeginnings, findExtension } from './session-versions.ts';
import { createBatchWriter } from './write-batches.ts';

/** Stored with every transcript, so that those read by an older parser can be found and read again. */
export const PARSER_VERSION = '2';

export interface ProcessOptions {
  maxLineBytes: number;
  maxInlineContentBytes?: number | undefined;
  /** Default: the price table with the workspace's own rates before it. */
  prices?: PriceTable | undefined;
  /** Aborts between two batches; nothing of the transcript is then committed. */
  signal?: AbortSignal | undefined;
}

/** The raw object is not what was uploaded: trying again may help, going on would store wrong numbers. */
export class RawObjectMismatchError extends Error {
  override name = 'RawObjectMismatchError';
}

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** Versions of one session that are compared with each other; no session has come near it. */
const MAX_SESSION_VERSIONS = 10_000;

/**
 * Streams a claimed transcript from the raw store through the parser into Postgres, in one transaction: readers see
 * the rows of before or those of after. Takes the session's lock first, so that versions of a session follow one
 * another: a longer version replaces its beginnings, a beginning adds nothing, a diverged one stands beside the others.
 * Returns what became of the transcript; undefined where it was deleted, or done by somebody else meanwhile.
 */
export async function processTranscript(
  deps: Deps,
  claimed: TranscriptRow,
  options: ProcessOptions,
): Promise<'ingested' | 'superseded' | undefined> {
  const { workspace_id: workspaceId, session_id: sessionId } = claimed;
  const { signal } = options;
  return await deps.database.withTransaction(
    async (transaction, client) => {
      await lockSession(transaction, workspaceId, sessionId);
      const transcript = await findTranscript(transaction, workspaceId, claimed.id);
      // Also `queued`: the failure of another worker that has the same job may have put it back meanwhile.
      if (transcript?.status !== 'processing' && transcript?.status !== 'queued') return undefined;
      const others = await listOtherVersions(transaction, transcript);
      const extension = await findExtension(deps.rawStore, transcript, others, options.signal);
      if (extension !== undefined) {
        await supersedeTranscripts(transaction, workspaceId, [transcript.id], extension.id);
        await settleSession(transaction, { workspaceId, sessionId, removedTranscriptIds: [transcript.id] });
        return 'superseded';
      }
      await deleteTranscriptRows(transaction, workspaceId, [transcript.id]);
      const prices = options.prices ?? (await readWorkspacePrices(transaction, workspaceId));
      const key = { workspaceId, transcriptId: transcript.id };
      const firstNumbers = await findNextUsageNumbers(transaction, workspaceId, transcript.id);
      const context = { ...key, agent: transcript.agent, priceVersion: prices.version };
      const writer = createBatchWriter(createTranscriptWriter(transaction, client, context, firstNumbers));
      const hashesByLength = await parseInto(writer, deps.rawStore, transcript, others, { ...options, prices });
      const { summary, counts } = writer.toResult();
      const versions = { parser: PARSER_VERSION, prices: prices.version };
      await completeTranscript(transaction, key, summary, counts, versions);
      const beginnings = findBeginnings(hashesByLength, others).map(({ id }) => id);
      await supersedeTranscripts(transaction, workspaceId, beginnings, transcript.id);
      await settleSession(transaction, {
        workspaceId,
        sessionId,
        written: { transcriptId: transcript.id, firstNumbers },
        removedTranscriptIds: beginnings,
      });
      return 'ingested';
    },
    { signal },
  );
}

async function listOtherVersions(transaction: Database, transcript: TranscriptRow): Promise<TranscriptRow[]> {
  const filter = { sessionId: transcript.session_id, hasRows: true } as const;
  const versions = await listTranscripts(transaction, transcript.workspace_id, filter, { limit: MAX_SESSION_VERSIONS });
  return versions.filter(({ id }) => id !== transcript.id);
}

/** Parses the raw object into the writer; returns its hashes at the lengths of the other versions. */
async function parseInto(
  writer: ReturnType<typeof createBatchWriter>,
  rawStore: RawStore,
  transcript: TranscriptRow,
  others: readonly TranscriptRow[],
  options: ProcessOptions,
): Promise<ReadonlyMap<number, string>> {
  const raw = await rawStore.get(transcript.object_key, { signal: options.signal });
  const hashes = hashPrefixes(
    raw,
    others.map(({ size_bytes }) => size_bytes),
  );
  await writer.writeAll(
    streamTranscript(transcript.session_id, hashes.chunks, {
      maxLineBytes: options.maxLineBytes,
      maxInlineContentBytes: options.maxInlineContentBytes,
      prices: options.prices,
      signal: options.signal,
    }),
  );
  options.signal?.throwIfAborted();
  const sha256 = hashes.toDigest();
  if (sha256 !== transcript.sha256) {
    throw new RawObjectMismatchError(`Raw object has SHA-256 ${sha256}, not ${transcript.sha256}`);
  }
  return hashes.byLength;
}
