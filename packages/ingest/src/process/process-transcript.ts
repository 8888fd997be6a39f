import { type Arrival, type PriceTable, streamTranscript } from '@recount/core';
import {
  completeTranscripts,
  createTranscriptCopier,
  createTranscriptWriter,
  type Database,
  deleteTranscriptRows,
  findNextUsageNumbers,
  findTranscript,
  findTranscriptArrivals,
  holdWorkspace,
  listTranscripts,
  lockSession,
  settleSessions,
  supersedeTranscripts,
  type TranscriptRow,
} from '@recount/db';
import type { RawStore } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { readWorkspacePrices } from '../prices/read-workspace-prices.ts';
import { readEarlierSecrets } from '../redact/earlier-secrets.ts';
import { hashRedacted, redactRawObject } from '../redact/redact-raw-object.ts';
import { createRedaction, type Redaction } from '../redact/redaction.ts';
import { toRowsVersion } from '../redact/rows-version.ts';
import { hashPrefixes } from './hash-prefixes.ts';
import { findBeginnings, findExtension } from './session-versions.ts';
import { createBatchWriter } from './write-batches.ts';

/** Stored with every transcript (see `toRowsVersion`), so that those read by an older parser can be found and read again. */
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
 *
 * Where the workspace wants that, secrets are taken out of the bytes before they are parsed, and a redacted copy takes the
 * place of the raw object, which is deleted last: what then stays behind after a crash is found by `recount doctor`.
 */
export async function processTranscript(
  deps: Deps,
  claimed: TranscriptRow,
  options: ProcessOptions,
): Promise<'ingested' | 'superseded' | undefined> {
  const { workspace_id: workspaceId, session_id: sessionId } = claimed;
  const { signal } = options;
  let replacedKey: string | undefined;
  const outcome = await deps.database.withTransaction(
    async (transaction, client) => {
      const settings = await holdWorkspace(transaction, workspaceId);
      if (settings === undefined) return undefined;
      await lockSession(transaction, workspaceId, sessionId);
      const transcript = await findTranscript(transaction, workspaceId, claimed.id);
      // Also `queued`: the failure of another worker that has the same job may have put it back meanwhile.
      if (transcript?.status !== 'processing' && transcript?.status !== 'queued') return undefined;
      const others = await listOtherVersions(transaction, transcript);
      const toRedactedHash = () => hashRedacted(deps.rawStore, transcript, options);
      const extension = await findExtension(deps.rawStore, transcript, others, { signal, toRedactedHash });
      if (extension !== undefined) {
        await supersedeTranscripts(transaction, workspaceId, [transcript.id], extension.id);
        const removedTranscriptIds = [transcript.id];
        await settleSessions(transaction, { workspaceId, sessionIds: [sessionId], written: [], removedTranscriptIds });
        if (settings.redaction === 'rows-and-raw') {
          replacedKey = await redactRawObject({ transaction, rawStore: deps.rawStore }, transcript, options);
        }
        return 'superseded';
      }
      const earlier = await readEarlierSecrets(transaction, transcript);
      const redaction = await createRedaction(settings.redaction, { maxLineBytes: options.maxLineBytes, earlier });
      // Null means no rows: most transcripts come once.
      if (transcript.ingested_at !== null) await deleteTranscriptRows(transaction, workspaceId, [transcript.id]);
      const arrivals =
        transcript.format === 'claude-stream-json'
          ? await findTranscriptArrivals(transaction, workspaceId, transcript.id)
          : undefined;
      const prices = options.prices ?? (await readWorkspacePrices(transaction, workspaceId));
      const key = { workspaceId, transcriptId: transcript.id };
      const firstNumbers = await findNextUsageNumbers(transaction, workspaceId, transcript.id);
      const context = { ...key, agent: transcript.agent, priceVersion: prices.version };
      const copier = createTranscriptCopier(client);
      const writer = createBatchWriter(createTranscriptWriter(transaction, copier, context, firstNumbers));
      const hashesByLength = await parseInto(writer, deps.rawStore, transcript, others, {
        ...options,
        prices,
        arrivals,
        redaction,
      });
      await copier.sendAll();
      const { summary, counts } = writer.toResult();
      const versions = { parser: toRowsVersion(PARSER_VERSION, settings.redaction), prices: prices.version };
      const completed = {
        transcriptId: transcript.id,
        summary,
        counts: { ...counts, secretsByRule: redaction.toCounts() },
        attemptCount: transcript.attempt_count,
      };
      await completeTranscripts(transaction, workspaceId, [completed], versions);
      const beginnings = findBeginnings(transcript, hashesByLength, others).map(({ id }) => id);
      await supersedeTranscripts(transaction, workspaceId, beginnings, transcript.id);
      await settleSessions(transaction, {
        workspaceId,
        sessionIds: [sessionId],
        written: [{ transcriptId: transcript.id, firstNumbers }],
        removedTranscriptIds: beginnings,
      });
      if (settings.redaction === 'rows-and-raw' && redaction.hasChanged) {
        replacedKey = await redactRawObject({ transaction, rawStore: deps.rawStore }, transcript, options);
      }
      return 'ingested';
    },
    { signal },
  );
  if (replacedKey !== undefined) await deps.rawStore.delete(replacedKey);
  return outcome;
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
  options: ProcessOptions & { arrivals: readonly Arrival[] | undefined; redaction: Redaction },
): Promise<ReadonlyMap<number, string>> {
  const raw = await rawStore.get(transcript.object_key, { signal: options.signal });
  const hashes = hashPrefixes(
    raw,
    others.map(({ size_bytes }) => size_bytes),
  );
  const batches = streamTranscript(transcript.session_id, options.redaction.redact(hashes.chunks), {
    maxLineBytes: options.maxLineBytes,
    maxInlineContentBytes: options.maxInlineContentBytes,
    prices: options.prices,
    arrivals: options.arrivals,
    signal: options.signal,
  });
  await writer.writeAll(options.redaction.withIssues(batches));
  options.signal?.throwIfAborted();
  const sha256 = hashes.toDigest();
  const expected = transcript.stored_sha256 ?? transcript.sha256;
  if (sha256 !== expected) throw new RawObjectMismatchError(`Raw object has SHA-256 ${sha256}, not ${expected}`);
  return hashes.byLength;
}
