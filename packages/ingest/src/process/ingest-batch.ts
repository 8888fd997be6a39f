import { ResumeError } from '@recount/core';
import {
  type Database,
  type DatabaseClient,
  listSessionTranscripts,
  lockFreeSessions,
  lockSession,
  lockWorkspaceShared,
  markRawDamaged,
  type RedactionMode,
  refreshStatistics,
  type TranscriptRow,
} from '@recount/db';
import type { RawStore } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { MAX_GROUPED_BYTES } from '../limits.ts';
import { readWorkspacePrices } from '../prices/workspace-prices.ts';
import { deleteRecordedObjects } from '../raw-objects/delete-raw-objects.ts';
import { redactRawObject } from '../raw-objects/redact-raw-object.ts';
import { toRowsVersion } from '../secrets/redaction.ts';
import { TranscriptPlanner, type VersionedTranscript } from './plan-transcripts.ts';
import { PARSER_VERSION, type ProcessOptions } from './process-options.ts';
import { writeTranscripts } from './write-transcripts.ts';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** A transcript that is done. */
export interface IngestedTranscript {
  transcript: TranscriptRow;
  /** Superseded means that another version of its session has its rows. */
  result: 'ingested' | 'superseded';
}

/**
 * Ingests transcripts of a workspace in one transaction: streams them from the raw store through the parser into
 * Postgres. Readers see either the old or the new rows. Holds the sessions' locks, so that versions of a session are
 * processed one after another. A longer version replaces its beginnings, a beginning adds nothing, a diverged one is
 * stored beside the others. If the agent rewrites its sessions, a later version replaces those whose responses it has.
 *
 * Leaves out transcripts whose session another process holds, those that were tried before, those whose raw object
 * cannot be read, and of several versions of one session all but the longest. Returns the others. If one fails, throws,
 * and none is ingested.
 *
 * If the workspace redacts secrets, they are removed from the bytes before parsing, and a redacted copy replaces the
 * raw object. The original is recorded for deletion in the transaction and deleted last, so a crash cannot leave it
 * behind.
 */
export async function ingestBatch(
  deps: Deps,
  workspaceId: string,
  transcriptIds: readonly string[],
  options: ProcessOptions,
): Promise<IngestedTranscript[]> {
  await refreshStatistics(deps.database.database, workspaceId);
  const choose = async (transaction: Database): Promise<VersionedTranscript[]> => {
    // Versions of a session are certain only with its lock.
    const sessionIds = await lockFreeSessions(transaction, workspaceId, transcriptIds);
    const rows = await listSessionTranscripts(transaction, workspaceId, sessionIds, transcriptIds);
    const isSmall = ({ size_bytes }: TranscriptRow): boolean =>
      transcriptIds.length === 1 || size_bytes <= MAX_GROUPED_BYTES;
    const isFirstAttempt = (row: TranscriptRow): boolean =>
      transcriptIds.includes(row.id) && row.status === 'queued' && row.attempt_count === 0 && isSmall(row);
    return chooseLongest(rows, isFirstAttempt).map(({ transcript, others }) => ({
      transcript: { ...transcript, attempt_count: 1 },
      others,
    }));
  };
  return await ingestChosen(deps, workspaceId, choose, options, { isAlone: false });
}

/**
 * The same for one transcript whose attempt is counted; waits for its session. Throws if its raw object cannot be read.
 * Undefined if the transcript was deleted, or processed by another worker, in that time.
 */
export async function ingestAlone(
  deps: Deps,
  { workspace_id: workspaceId, session_id: sessionId, id }: TranscriptRow,
  options: ProcessOptions,
): Promise<IngestedTranscript['result'] | undefined> {
  const choose = async (transaction: Database): Promise<VersionedTranscript[]> => {
    await lockSession(transaction, workspaceId, sessionId);
    const rows = await listSessionTranscripts(transaction, workspaceId, [sessionId], [id]);
    // `queued` too, because the failure of another worker with the same job may have reset it in that time.
    return chooseLongest(rows, (row) => row.id === id && (row.status === 'processing' || row.status === 'queued'));
  };
  const [ingested] = await ingestChosen(deps, workspaceId, choose, options, { isAlone: true });
  return ingested?.result;
}

/** The longest of the admitted transcripts of each session, with the versions that have rows. */
function chooseLongest(
  rows: readonly TranscriptRow[],
  isAdmitted: (row: TranscriptRow) => boolean,
): VersionedTranscript[] {
  return [...Map.groupBy(rows, ({ session_id }) => session_id).values()].flatMap((versions) => {
    const [transcript] = versions
      .filter(isAdmitted)
      .sort((one, other) => other.size_bytes - one.size_bytes || (one.id < other.id ? 1 : -1));
    if (transcript === undefined) return [];
    const others = versions.filter(({ id, ingested_at }) => ingested_at !== null && id !== transcript.id);
    return { transcript, others };
  });
}

type Choose = (transaction: Database) => Promise<VersionedTranscript[]>;

async function ingestChosen(
  deps: Deps,
  workspaceId: string,
  choose: Choose,
  options: ProcessOptions,
  { isAlone }: { isAlone: boolean },
): Promise<IngestedTranscript[]> {
  const tryIngest = async (mayResume: boolean): Promise<Done> =>
    await deps.database.withTransaction(
      async (transaction, client) => {
        const settings = await lockWorkspaceShared(transaction, workspaceId);
        const chosen = settings === undefined ? [] : await choose(transaction);
        if (settings === undefined || chosen.length === 0) return { ingested: [], replacedKeys: [] };
        const held = { transaction, client, workspaceId, redactionMode: settings.redaction };
        return await ingestHeld(deps.rawStore, held, chosen, options, { isAlone, mayResume });
      },
      { signal: options.signal },
    );
  const { ingested, replacedKeys } = await tryIngest(true).catch(async (error: unknown) => {
    if (!(error instanceof ResumeError)) throw error;
    return await tryIngest(false);
  });
  await deleteRecordedObjects(deps, workspaceId, replacedKeys);
  return ingested;
}

/** Transcripts that are done once the transaction is committed, and the raw objects to delete after that. */
interface Done {
  ingested: IngestedTranscript[];
  replacedKeys: string[];
}

/** The connection of a transaction that holds the workspace and the transcripts' sessions. */
interface Held {
  transaction: Database;
  client: DatabaseClient;
  workspaceId: string;
  redactionMode: RedactionMode;
}

async function ingestHeld(
  rawStore: RawStore,
  { transaction, client, workspaceId, redactionMode }: Held,
  chosen: readonly VersionedTranscript[],
  options: ProcessOptions,
  { isAlone, mayResume }: { isAlone: boolean; mayResume: boolean },
): Promise<Done> {
  const prices = options.prices ?? (await readWorkspacePrices(transaction, workspaceId, options.priceSource?.file));
  const versions = { parser: toRowsVersion(PARSER_VERSION, redactionMode), prices: prices.version };
  const planning = { ...options, prices, versions, redactionMode, isAlone, mayResume };
  const planner = new TranscriptPlanner(transaction, rawStore, planning);
  const planned = planner.plan(chosen);
  const writing = { versions, signal: options.signal, superseded: planner.superseded };
  const superseded = await writeTranscripts({ transaction, client }, workspaceId, planned, writing);
  const done: Done = { ingested: [], replacedKeys: [] };
  for (const { transcript, hasSecrets, isSuperseded } of planner.done) {
    const result = isSuperseded || superseded.has(transcript.id) ? 'superseded' : 'ingested';
    done.ingested.push({ transcript, result });
    if (redactionMode !== 'rows-and-raw' || !hasSecrets()) continue;
    const key = await redactRawObject({ transaction, rawStore }, transcript, options);
    if (key !== undefined) done.replacedKeys.push(key);
  }
  // They are compared once they are intact again. Done last, because it locks their rows, and uploads that heal them
  // wait for these.
  for (const other of planner.lost) await markRawDamaged(transaction, other, true);
  return done;
}
