import {
  type Actor,
  addAuditEntry,
  checkRelations,
  listRawObjectDeletions,
  RelationCheckError,
  readSearchBacklog,
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
import { describeObjects } from './describe-objects.ts';

export type DatabaseFinding =
  /** A table or an index whose files are damaged: by the disk, or by two servers on the same files. */
  | { kind: 'damaged-relation'; relation: string; reason: string; fixed: false }
  /** The check was asked for and cannot be done. */
  | { kind: 'unchecked-database'; reason: string; fixed: false };

/** Reads all tables and indexes of the database; see checkRelations. */
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
  /** A raw object that somebody deleted, and that is still there or was not seen to be gone. */
  | { kind: 'unfinished-deletion'; objectKey: string; fixed: boolean }
  /** Sessions that wait to be indexed for search, some of them for long, or after a failure. */
  | { kind: 'search-behind'; waitingSessions: number; failingSessions: number; fixed: false }
  | StreamFinding
  | AttachmentFinding
  | DatabaseFinding
  /** Objects that had no description of what their bytes do not tell, as recount 0.3 stored them. */
  | { kind: 'undescribed-objects'; count: number; fixed: true }
  /** Remains of uploads that were cut off, which are no objects yet. */
  | { kind: 'stale-uploads'; count: number; fixed: true };

/**
 * Notes in the audit log what the doctor has just mended: right after it, as most of it is in the raw store, which has no part in
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

/** What is of all workspaces is noted of none. */
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

/** What the doctor looks at, in its order. */
export type DoctorStep =
  | 'deletions'
  | 'objects'
  | 'transcripts'
  | 'streams'
  | 'attachments'
  | 'search'
  | 'database'
  | 'mending';

export interface DoctorOptions {
  /** Looks at this workspace alone; undefined: at all of the installation. */
  workspaceId?: string;
  /** Called before each step. */
  onStep?: (step: DoctorStep) => void;
  /** Mends what it finds: receives orphan objects as uploads, enqueues lost jobs, removes remains of uploads. */
  fix: boolean;
  /** Reads every raw object of a transcript, as long as that takes, and compares its SHA-256. Default: false. */
  checksums?: boolean;
  /** Reads all tables and indexes of the database. Default: false. */
  deep?: boolean;
  /** Called for every raw object that was read for its checksum. */
  onRead?: (sizeBytes: number) => void;
  /** Younger objects that nothing names, and jobs, may belong to an upload under way. Default one hour. */
  minAgeMs?: number;
  /** Counts what was looked at and what was left out, while it runs. */
  counts?: DoctorCounts;
  nowMs: number;
  /** Who has it mended, for the audit log. Default `system`. */
  actor?: Actor;
  signal?: AbortSignal;
}

const DEFAULT_MIN_AGE_MS = 60 * 60 * 1000;
/** S3 dates an upload by its beginning, and a large one may take hours. */
const STALE_UPLOAD_AGE_MS = 24 * 60 * 60 * 1000;

/** Of a session that waits to be indexed: workers do it when they find the time. */
const MAX_SEARCH_DELAY_MS = 60 * 60 * 1000;

/** Compares raw store, database and queue, of one workspace or all, and yields every disagreement. What it mends it notes in the audit log. */
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
  onStep('deletions');
  yield* checkDeletions(deps, { workspaceId, fix, latestMs, signal });
  onStep('objects');
  yield* findOrphans(deps, { workspaceId, fix, latestMs, counts, signal });
  onStep('transcripts');
  yield* checkTranscripts(deps, { workspaceId, fix, checksums, onRead, latestMs, counts, signal });
  onStep('streams');
  yield* checkStoredStreams(deps, { workspaceId, checksums, onRead, counts, signal });
  onStep('attachments');
  yield* checkAttachments(deps, { workspaceId, checksums, onRead, counts, signal });
  onStep('search');
  yield* checkSearchIndex(deps, options.nowMs, workspaceId);
  if (options.deep) {
    onStep('database');
    yield* checkDatabaseFiles(deps, signal);
  }
  if (!fix) return;
  onStep('mending');
  const described = await describeObjects(deps, { workspaceId, signal });
  if (described > 0) yield { kind: 'undescribed-objects', count: described, fixed: true };
  // The store knows of no workspaces in what was cut off.
  if (workspaceId !== undefined) return;
  const count = await deps.rawStore.abortStaleUploads(STALE_UPLOAD_AGE_MS);
  if (count > 0) yield { kind: 'stale-uploads', count, fixed: true };
}

/** Before the search for orphans: what was to be deleted must not be taken for one. */
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

async function* checkSearchIndex(
  { database }: IngestDependencies,
  nowMs: number,
  workspaceId: string | undefined,
): AsyncGenerator<Finding> {
  const backlog = await readSearchBacklog(database.database, workspaceId);
  const { waitingSessions, failingSessions, oldestWaitingSince } = backlog;
  if (
    oldestWaitingSince === null ||
    (failingSessions === 0 && nowMs - Date.parse(oldestWaitingSince) < MAX_SEARCH_DELAY_MS)
  )
    return;
  yield { kind: 'search-behind', waitingSessions, failingSessions, fixed: false };
}
