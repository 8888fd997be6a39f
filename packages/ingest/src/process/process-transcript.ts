import { type Arrival, type PriceTable, ResumeError } from '@recount/core';
import {
  type Database,
  type DatabaseClient,
  deleteTranscriptRows,
  findNextUsageNumbers,
  findTranscript,
  findTranscriptArrivals,
  listTranscripts,
  lockSession,
  lockWorkspaceShared,
  markRawDamaged,
  preferIndexes,
  type RedactionMode,
  settleSessions,
  supersedeTranscripts,
  type TranscriptRow,
} from '@recount/db';
import type { PriceSource } from '@recount/prices';
import type { RawStore } from '@recount/storage';
import { ulid } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { readWorkspacePrices } from '../prices/workspace-prices.ts';
import { deleteRecordedObjects } from '../raw-objects/delete-raw-objects.ts';
import { hashRedacted, redactRawObject } from '../raw-objects/redact-raw-object.ts';
import { createRedaction, readEarlierSecrets, toRowsVersion } from '../secrets/redaction.ts';
import { parseRawObject } from './parse-raw-object.ts';
import { findResumePoint, toPrefixRows } from './resume-point.ts';
import { findExtension } from './session-versions.ts';
import { toRowSetIds, writeTranscripts } from './write-transcripts.ts';

/**
 * A whole number, stored with every transcript (see `toRowsVersion`). Workers ingest those made by an older parser
 * again.
 */
export const PARSER_VERSION = '8';

export interface ProcessOptions {
  maxLineBytes: number;
  maxInlineContentBytes?: number | undefined;
  /** Defaults to the price table, preceded by the workspace's own rates. */
  prices?: PriceTable | undefined;
  /** Prices that precede the list in that table. */
  priceSource?: Pick<PriceSource, 'file'> | undefined;
  /** Smaller transcripts are parsed again when they have grown. Default 256 KiB. */
  minCheckpointBytes?: number | undefined;
  /** Aborts between two batches; nothing of the transcript is then committed. */
  signal?: AbortSignal | undefined;
}

type ProcessResult = 'ingested' | 'superseded';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** Versions of one session that are compared with each other; no session comes near it. */
const MAX_SESSION_VERSIONS = 10_000;

/**
 * Streams a claimed transcript from the raw store through the parser into Postgres, in one transaction. Readers see
 * either the old or the new rows. Takes the session's lock first, so that versions of a session are processed one after
 * another. A longer version replaces its beginnings, a beginning adds nothing, a diverged one is stored beside the
 * others. If the agent rewrites its sessions, a later version replaces those whose responses it has. Returns the
 * outcome; undefined if the transcript was deleted, or processed by another worker, in that time.
 *
 * If the workspace redacts secrets, they are removed from the bytes before parsing, and a redacted copy replaces the
 * raw object. The original is recorded for deletion in the transaction and deleted last, so a crash cannot leave it
 * behind.
 */
export async function processTranscript(
  deps: Deps,
  claimed: TranscriptRow,
  options: ProcessOptions,
): Promise<ProcessResult | undefined> {
  try {
    return await processOnce(deps, claimed, options, { mayResume: true });
  } catch (error) {
    if (!(error instanceof ResumeError)) throw error;
    return await processOnce(deps, claimed, options, { mayResume: false });
  }
}

async function processOnce(
  deps: Deps,
  claimed: TranscriptRow,
  options: ProcessOptions,
  { mayResume }: { mayResume: boolean },
): Promise<ProcessResult | undefined> {
  const { workspace_id: workspaceId, session_id: sessionId } = claimed;
  const ingested = await deps.database.withTransaction(
    async (transaction, client) => {
      const settings = await lockWorkspaceShared(transaction, workspaceId);
      if (settings === undefined) return undefined;
      await lockSession(transaction, workspaceId, sessionId);
      const transcript = await findTranscript(transaction, workspaceId, claimed.id);
      // `queued` too, because the failure of another worker with the same job may have reset it in that time.
      if (transcript?.status !== 'processing' && transcript?.status !== 'queued') return undefined;
      const held = { transaction, client, transcript, redactionMode: settings.redaction };
      return await ingestHeld(deps.rawStore, held, options, { mayResume });
    },
    { signal: options.signal },
  );
  if (ingested === undefined) return undefined;
  await deleteRecordedObjects(deps, workspaceId, ingested.replacedKeys);
  return ingested.result;
}

/** A transcript whose session's lock the transaction holds. */
interface HeldTranscript {
  transaction: Database;
  client: DatabaseClient;
  transcript: TranscriptRow;
  redactionMode: RedactionMode;
}

/**
 * Ingests a transcript in the caller's transaction. After that, the caller deletes the raw objects of `replacedKeys`.
 * Throws ResumeError if it must be done again without a resume point.
 */
export async function ingestHeld(
  rawStore: RawStore,
  held: HeldTranscript,
  options: ProcessOptions,
  { mayResume }: { mayResume: boolean },
): Promise<{ result: ProcessResult; replacedKeys: string[] }> {
  const { transaction, transcript, redactionMode } = held;
  const others = await listOtherVersions(transaction, transcript);
  const toRedactedHash = () => hashRedacted(rawStore, transcript, options);
  const compareOptions = { signal: options.signal, toRedactedHash };
  const { extension, lost } = await findExtension(rawStore, transcript, others, compareOptions);
  let hasSecrets = true;
  let isSuperseded = extension !== undefined;
  if (extension !== undefined) await supersede(transaction, transcript, extension);
  else ({ hasSecrets, isSuperseded } = await ingest(rawStore, { ...held, others }, options, { mayResume }));
  const mayRedact = redactionMode === 'rows-and-raw' && hasSecrets;
  const replacedKey = mayRedact ? await redactRawObject({ transaction, rawStore }, transcript, options) : undefined;
  // They are compared once they are intact again. Done last, because it locks their rows, and uploads that heal them
  // wait for these.
  for (const other of lost) await markRawDamaged(transaction, other, true);
  return {
    result: isSuperseded ? 'superseded' : 'ingested',
    replacedKeys: replacedKey === undefined ? [] : [replacedKey],
  };
}

async function supersede(transaction: Database, transcript: TranscriptRow, extension: TranscriptRow): Promise<void> {
  const { workspace_id: workspaceId, session_id: sessionId } = transcript;
  await supersedeTranscripts(transaction, workspaceId, [transcript], extension.id);
  const removedRowSetIds = toRowSetIds([transcript]);
  await settleSessions(transaction, { workspaceId, sessionIds: [sessionId], written: [], removedRowSetIds });
}

/** Writes the transcript's rows, or those that it adds to a shorter version's, and everything derived from them. */
async function ingest(
  rawStore: RawStore,
  { transaction, client, transcript, others, redactionMode }: HeldTranscript & { others: readonly TranscriptRow[] },
  options: ProcessOptions,
  { mayResume }: { mayResume: boolean },
): Promise<{ hasSecrets: boolean; isSuperseded: boolean }> {
  const { workspace_id: workspaceId } = transcript;
  const earlier = await readEarlierSecrets({ transaction, rawStore }, transcript);
  const redaction = await createRedaction(redactionMode, { maxLineBytes: options.maxLineBytes, earlier });
  const prices = options.prices ?? (await readWorkspacePrices(transaction, workspaceId, options.priceSource?.file));
  const versions = { parser: toRowsVersion(PARSER_VERSION, redactionMode), prices: prices.version };
  const resumePoint = mayResume ? await findResumePoint(transaction, transcript, others, versions) : undefined;
  if (resumePoint !== undefined) await preferIndexes(transaction);
  await deleteTranscriptRows(transaction, workspaceId, toRowSetIds([transcript]));
  const key = { workspaceId, rowSetId: resumePoint?.prefix.row_set_id ?? chooseRowSetId(transcript, others) };
  // Without a row set it has no separate rows yet.
  const isFirst = transcript.row_set_id === null && resumePoint === undefined;
  const firstNewNumbers = isFirst ? { entry: 0, call: 0 } : await findNextUsageNumbers(transaction, key);
  const rowSet = { ...key, firstNewNumbers, prefix: resumePoint && toPrefixRows(resumePoint) };
  const arrivals = await findArrivals(transaction, transcript);
  const parsing = { ...options, prices, arrivals, redaction, resumePoint };
  const parsed = await parseRawObject(rawStore, transcript, others, parsing);
  const planned = { transcript, rowSet, others, resumePoint, redaction, ...parsed };
  const superseded = await writeTranscripts({ transaction, client }, workspaceId, [planned], { ...options, versions });
  return { hasSecrets: redaction.hasChanged, isSuperseded: superseded.has(transcript.id) };
}

/** Lines of a recorded stream have no times. */
async function findArrivals(transaction: Database, transcript: TranscriptRow): Promise<Arrival[] | undefined> {
  if (!transcript.is_stream) return undefined;
  return await findTranscriptArrivals(transaction, transcript.workspace_id, transcript.id);
}

async function listOtherVersions(transaction: Database, transcript: TranscriptRow): Promise<TranscriptRow[]> {
  const filter = { sessionId: transcript.session_id, hasRows: true } as const;
  const versions = await listTranscripts(transaction, transcript.workspace_id, filter, { limit: MAX_SESSION_VERSIONS });
  return versions.filter(({ id }) => id !== transcript.id);
}

/** The transcript's own id, unless a longer version took over the rows stored under it. */
function chooseRowSetId({ id, row_set_id }: TranscriptRow, others: readonly TranscriptRow[]): string {
  if (row_set_id !== null) return row_set_id;
  return others.some((other) => other.row_set_id === id) ? ulid() : id;
}
