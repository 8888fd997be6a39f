import {
  type Actor,
  addAuditEntry,
  checkRelations,
  type Database,
  listLostRowSets,
  listLostSegments,
  listNotices,
  listRawObjectDeletions,
  listSilentNodes,
  listWorkspaces,
  type Notice,
  queueRowSets,
  RelationCheckError,
  readSearchBacklog,
  removeLostSegments,
} from '@recount/db';
import {
  parseAttachmentObjectKey,
  parseRawObjectKey,
  parseRedactedObjectKey,
  parseStreamObjectKey,
} from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { finishDeletions } from '../raw-objects/delete-raw-objects.ts';
import { type AttachmentFinding, checkAttachments } from './check-attachments.ts';
import { findOrphans, type OrphanFinding } from './check-orphans.ts';
import {
  checkStoredStreams,
  checkTranscripts,
  createDoctorCounts,
  type DoctorCounts,
  type StreamFinding,
  type TranscriptFinding,
} from './check-raw-objects.ts';
import { findStoreFault, type StoreFinding } from './check-store.ts';
import { describeObjects } from './describe-objects.ts';

export type DatabaseFinding =
  /** A table or an index whose files are damaged by the disk, or by two servers using the same files. */
  | { kind: 'damaged-relation'; relation: string; reason: string; fixed: false }
  /** The check was requested but is not possible. */
  | { kind: 'unchecked-database'; reason: string; fixed: false };

/** A node of the database's cluster without an answer. `workspaces` are the names of those that it holds. */
interface NodeFinding {
  kind: 'silent-node';
  node: string;
  reason: string;
  workspaces: string[];
  fixed: false;
}

async function* checkNodes({ database }: IngestDependencies): AsyncGenerator<NodeFinding> {
  for (const { node, fault, workspaces } of await listSilentNodes(database)) {
    yield { kind: 'silent-node', node, reason: fault, workspaces: workspaces.map(({ name }) => name), fixed: false };
  }
}

/** Reads all tables and indexes of the server; see checkRelations. */
async function* checkDatabaseFiles(
  { database }: IngestDependencies,
  signal: AbortSignal | undefined,
): AsyncGenerator<DatabaseFinding> {
  try {
    for await (const fault of checkRelations(database, signal)) {
      yield { kind: 'damaged-relation', ...fault, fixed: false };
    }
  } catch (error) {
    if (!(error instanceof RelationCheckError)) throw error;
    yield { kind: 'unchecked-database', reason: error.message, fixed: false };
  }
}

/** A disagreement between raw store, database and queue. */
export type Finding =
  | OrphanFinding
  | TranscriptFinding
  /** A deleted raw object that still exists, or whose deletion is unconfirmed. */
  | { kind: 'unfinished-deletion'; objectKey: string; fixed: boolean }
  /** A type of lines, blocks or usage that recount does not read or does not know. */
  | {
      kind: 'notice';
      agent: string;
      agentVersion: string | null;
      reason: string;
      transcriptCount: number;
      count: number;
      fixed: false;
    }
  /** Sessions waiting to be indexed for search, some for long, or after a failure, and transcripts that must be again. */
  | { kind: 'search-behind'; waitingSessions: number; failingSessions: number; fixed: false }
  /** Segments of search whose row is lost, and that left postings or row sets. */
  | { kind: 'lost-segments'; count: number; fixed: boolean }
  | NodeFinding
  | StoreFinding
  | StreamFinding
  | AttachmentFinding
  | DatabaseFinding
  /** Objects without a description of what their bytes do not contain, as recount 0.3 stored them. */
  | { kind: 'undescribed-objects'; count: number; fixed: boolean }
  /** Remains of interrupted uploads, which are not objects yet. */
  | { kind: 'stale-uploads'; count: number; fixed: true };

/**
 * Records a repair in the audit log, right after it, because most repairs are in the raw store, which takes no part in
 * transactions.
 */
async function auditFinding(
  { database }: Pick<IngestDependencies, 'database'>,
  finding: Finding,
  actor: Actor,
): Promise<void> {
  if (!finding.fixed) return;
  const { workspaceId, subjects } = toSubjects(finding);
  const details = { kind: finding.kind, ...('count' in finding && { count: finding.count }) };
  await addAuditEntry(database.database, { workspaceId, actor, action: 'doctor.fix', subjects, details });
}

/** Repairs that concern all workspaces are recorded in none. */
function toSubjects(finding: Finding & { fixed: boolean }): { workspaceId: string; subjects: string[] } {
  if ('transcriptId' in finding) return { workspaceId: finding.workspaceId, subjects: [finding.transcriptId] };
  if (!('objectKey' in finding)) return { workspaceId: '', subjects: [] };
  const { objectKey } = finding;
  const parts =
    parseRawObjectKey(objectKey) ??
    parseRedactedObjectKey(objectKey) ??
    parseStreamObjectKey(objectKey) ??
    parseAttachmentObjectKey(objectKey);
  return { workspaceId: parts?.workspaceId ?? '', subjects: [objectKey] };
}

/** The doctor's steps, in order. The API serves them, and `maintenance_checks` stores the current one. */
export type DoctorStep =
  | 'nodes'
  | 'store'
  | 'deletions'
  | 'objects'
  | 'transcripts'
  | 'streams'
  | 'attachments'
  | 'notices'
  | 'search'
  | 'database'
  | 'repairs';

export interface DoctorOptions {
  /** Checks only this workspace; undefined means the whole installation. */
  workspaceId?: string;
  /** Called before each step. */
  onStep?: (step: DoctorStep) => void;
  /** Repairs what it finds. It receives orphan objects as uploads, enqueues lost jobs, removes remains of uploads. */
  fix: boolean;
  /** Reads every raw object of a transcript and compares its SHA-256, however long that takes. Defaults to false. */
  checksums?: boolean;
  /** Reads all tables and indexes of the database. Defaults to false. */
  deep?: boolean;
  /** Called for every raw object that was read for its checksum. */
  onRead?: (sizeBytes: number) => void;
  /** Younger objects without a row, and jobs, may belong to an upload in progress. Defaults to one hour. */
  minAgeMs?: number;
  /** Updated with what was checked and what was left out, while it runs. */
  counts?: DoctorCounts;
  nowMs: number;
  /** Who requested the repair, for the audit log. Default `system`. */
  actor?: Actor;
  signal?: AbortSignal;
}

const DEFAULT_MIN_AGE_MS = 60 * 60 * 1000;
/** S3 dates an upload by its start, and a large one may take hours. */
const STALE_UPLOAD_AGE_MS = 24 * 60 * 60 * 1000;

/** The time that a session may wait for indexing. Workers do it in their idle time. */
const MAX_SEARCH_DELAY_MS = 60 * 60 * 1000;

/**
 * Compares raw store, database and queue, for one workspace or all, and yields every disagreement. Repairs are recorded
 * in the audit log.
 */
export async function* runDoctor(deps: IngestDependencies, options: DoctorOptions): AsyncGenerator<Finding> {
  for await (const finding of findDisagreements(deps, options)) {
    await auditFinding(deps, finding, options.actor ?? 'system');
    yield finding;
  }
}

async function* findDisagreements(deps: IngestDependencies, options: DoctorOptions): AsyncGenerator<Finding> {
  const { workspaceId, fix, checksums = false, onRead = () => undefined, signal } = options;
  const { counts = createDoctorCounts(), onStep = () => undefined } = options;
  const latestMs = options.nowMs - (options.minAgeMs ?? DEFAULT_MIN_AGE_MS);
  onStep('nodes');
  let isWhole = true;
  for await (const finding of checkNodes(deps)) {
    isWhole = false;
    yield finding;
  }
  // Nothing can be compared with rows that cannot be read, and what they name must not look like orphans.
  if (!isWhole) return;
  onStep('store');
  yield* checkStore(deps, workspaceId, signal);
  onStep('deletions');
  yield* checkDeletions(deps, { workspaceId, fix, latestMs, signal });
  onStep('objects');
  let undescribed = 0;
  const onUndescribed = (): void => {
    undescribed += 1;
  };
  yield* findOrphans(deps, { workspaceId, fix, latestMs, counts, onUndescribed, signal });
  // Those that orphans of this run leave are described with the repairs.
  if (!fix && undescribed > 0) yield { kind: 'undescribed-objects', count: undescribed, fixed: false };
  onStep('transcripts');
  yield* checkTranscripts(deps, { workspaceId, fix, checksums, onRead, latestMs, counts, signal });
  onStep('streams');
  yield* checkStoredStreams(deps, { workspaceId, checksums, onRead, counts, signal });
  onStep('attachments');
  yield* checkAttachments(deps, { workspaceId, checksums, onRead, counts, signal });
  onStep('notices');
  yield* findNotices(deps, workspaceId);
  onStep('search');
  yield* checkSearchIndex(deps, options);
  if (options.deep) {
    onStep('database');
    yield* checkDatabaseFiles(deps, signal);
  }
  if (!fix) return;
  onStep('repairs');
  const described = await describeObjects(deps, { workspaceId, signal });
  if (described > 0) yield { kind: 'undescribed-objects', count: described, fixed: true };
  // Interrupted uploads in the store do not tell their workspace.
  if (workspaceId !== undefined) return;
  const count = await deps.rawStore.abortStaleUploads(STALE_UPLOAD_AGE_MS);
  if (count > 0) yield { kind: 'stale-uploads', count, fixed: true };
}

/** Runs first, because repairs fail without the store. */
async function* checkStore(
  deps: IngestDependencies,
  workspaceId: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<StoreFinding> {
  const workspaces = workspaceId === undefined ? await listWorkspaces(deps.database.database) : [{ id: workspaceId }];
  const ids = workspaces.map(({ id }) => id);
  const fault = await findStoreFault(deps, ids, signal);
  if (fault === undefined) return;
  yield { kind: 'unwritable-store', reason: fault.advice, message: fault.message, fixed: false };
}

/** Deletes what lost segments left, if `fix` is set. */
async function countLostSegments(
  database: Database,
  { workspaceId, fix }: { workspaceId: string | undefined; fix: boolean },
): Promise<number> {
  let count = 0;
  const workspaces = workspaceId === undefined ? await listWorkspaces(database) : [{ id: workspaceId }];
  for (const { id } of workspaces) {
    count += fix ? await removeLostSegments(database, id) : (await listLostSegments(database, id)).length;
  }
  return count;
}

/** Runs before the search for orphans, because objects recorded for deletion must not count as orphans. */
async function* checkDeletions(
  deps: IngestDependencies,
  {
    workspaceId,
    fix,
    latestMs,
    signal,
  }: { workspaceId: string | undefined; fix: boolean; latestMs: number; signal: AbortSignal | undefined },
): AsyncGenerator<Finding> {
  const recordedBefore = new Date(latestMs).toISOString();
  if (fix) {
    for await (const { objectKey } of finishDeletions(deps, recordedBefore, { workspaceId, signal })) {
      yield { kind: 'unfinished-deletion', objectKey, fixed: true };
    }
    return;
  }
  for await (const page of listRawObjectDeletions(deps.database.database, recordedBefore, workspaceId)) {
    for (const { objectKey } of page) yield { kind: 'unfinished-deletion', objectKey, fixed: false };
  }
}

/** Notices of a workspace; more would hide the other findings. */
const MAX_NOTICES = 200;

/** One finding for each type and version of an agent, in whichever workspaces it occurs. */
async function* findNotices(
  { database: { database } }: IngestDependencies,
  workspaceId: string | undefined,
): AsyncGenerator<Finding> {
  const workspaceIds = workspaceId === undefined ? (await listWorkspaces(database)).map(({ id }) => id) : [workspaceId];
  const notices = new Map<string, Notice>();
  for (const id of workspaceIds) {
    for (const notice of await listNotices(database, id, MAX_NOTICES)) {
      const { agent, agentVersion, message } = notice;
      const key = JSON.stringify([agent, agentVersion, message]);
      const { transcriptCount = 0, occurrenceCount = 0 } = notices.get(key) ?? {};
      notices.set(key, {
        ...notice,
        transcriptCount: notice.transcriptCount + transcriptCount,
        occurrenceCount: notice.occurrenceCount + occurrenceCount,
      });
    }
  }
  for (const { agent, agentVersion, message: reason, transcriptCount, occurrenceCount: count } of notices.values()) {
    yield { kind: 'notice', agent, agentVersion, reason, transcriptCount, count, fixed: false };
  }
}

/** Rows that are lost to search are to be indexed as well; `fix` lets workers do so. */
async function* checkSearchIndex(
  { database }: IngestDependencies,
  { nowMs, workspaceId, fix }: Pick<DoctorOptions, 'nowMs' | 'workspaceId' | 'fix'>,
): AsyncGenerator<Finding> {
  const remains = await countLostSegments(database.database, { workspaceId, fix });
  if (remains > 0) yield { kind: 'lost-segments', count: remains, fixed: fix };
  const lost = await listLostRowSets(database.database, workspaceId);
  const backlog = await readSearchBacklog(database.database, workspaceId);
  const { waitingSessions, failingSessions, oldestWaitingSince } = backlog;
  if (fix) {
    for (const [id, rowSets] of Map.groupBy(lost, (each) => each.workspaceId)) {
      await queueRowSets(
        database.database,
        id,
        rowSets.map(({ rowSetId }) => rowSetId),
      );
    }
  }
  const isLate = oldestWaitingSince !== null && nowMs - Date.parse(oldestWaitingSince) >= MAX_SEARCH_DELAY_MS;
  if (lost.length === 0 && failingSessions === 0 && !isLate) return;
  yield { kind: 'search-behind', waitingSessions: waitingSessions + lost.length, failingSessions, fixed: false };
}
