import { type Actor, listRawObjectDeletions, readSearchBacklog } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { finishDeletions } from '../raw-objects/delete-raw-objects.ts';
import { auditFinding } from './audit-finding.ts';
import { checkDatabaseFiles } from './check-database-files.ts';
import { findOrphans } from './check-orphans.ts';
import { checkStoredStreams } from './check-streams.ts';
import { checkTranscripts } from './check-transcripts.ts';
import { describeObjects } from './describe-objects.ts';
import { createDoctorCounts, type DoctorCounts } from './doctor-counts.ts';
import type { Finding } from './finding.ts';

export interface DoctorOptions {
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

/** Compares raw store, database and queue, and yields every disagreement. What it mends it notes in the audit log. */
export async function* runDoctor(deps: IngestDependencies, options: DoctorOptions): AsyncGenerator<Finding> {
  for await (const finding of findDisagreements(deps, options)) {
    await auditFinding(deps, finding, options.actor ?? 'system');
    yield finding;
  }
}

async function* findDisagreements(deps: IngestDependencies, options: DoctorOptions): AsyncGenerator<Finding> {
  const { fix, checksums = false, onRead = () => undefined, counts = createDoctorCounts(), signal } = options;
  const latestMs = options.nowMs - (options.minAgeMs ?? DEFAULT_MIN_AGE_MS);
  yield* checkDeletions(deps, { fix, latestMs, signal });
  yield* findOrphans(deps, { fix, latestMs, counts, signal });
  yield* checkTranscripts(deps, { fix, checksums, onRead, latestMs, counts, signal });
  yield* checkStoredStreams(deps, { checksums, onRead, counts, signal });
  yield* checkSearchIndex(deps, options.nowMs);
  if (options.deep) yield* checkDatabaseFiles(deps, signal);
  if (!fix) return;
  const described = await describeObjects(deps, signal);
  if (described > 0) yield { kind: 'undescribed-objects', count: described, fixed: true };
  const count = await deps.rawStore.abortStaleUploads(STALE_UPLOAD_AGE_MS);
  if (count > 0) yield { kind: 'stale-uploads', count, fixed: true };
}

/** Before the search for orphans: what was to be deleted must not be taken for one. */
async function* checkDeletions(
  deps: IngestDependencies,
  { fix, latestMs, signal }: { fix: boolean; latestMs: number; signal: AbortSignal | undefined },
): AsyncGenerator<Finding> {
  const recordedBefore = new Date(latestMs).toISOString();
  if (fix) {
    for await (const { objectKey } of finishDeletions(deps, recordedBefore, signal)) {
      yield { kind: 'unfinished-deletion', objectKey, fixed: true };
    }
    return;
  }
  for await (const page of listRawObjectDeletions(deps.database.database, recordedBefore)) {
    for (const { objectKey } of page) yield { kind: 'unfinished-deletion', objectKey, fixed: false };
  }
}

async function* checkSearchIndex({ database }: IngestDependencies, nowMs: number): AsyncGenerator<Finding> {
  const backlog = await readSearchBacklog(database.database);
  const { waitingSessions, failingSessions, oldestWaitingSince } = backlog;
  if (
    oldestWaitingSince === null ||
    (failingSessions === 0 && nowMs - Date.parse(oldestWaitingSince) < MAX_SEARCH_DELAY_MS)
  )
    return;
  yield { kind: 'search-behind', waitingSessions, failingSessions, fixed: false };
}
