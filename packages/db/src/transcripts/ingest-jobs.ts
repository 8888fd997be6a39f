import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { toJsonText } from '../schema/column-types.ts';
import { ingestJobs } from '../schema/ingest-jobs.ts';
import { transcripts } from '../schema/transcripts.ts';

/** Names the transcript to ingest; everything else is read from its row. */
export interface IngestJob {
  workspaceId: string;
  transcriptId: string;
}

export interface NewIngestJob {
  transcriptId: string;
  sizeBytes: number;
  /** Not to be ingested in a batch. */
  isAlone: boolean;
}

/** A job that a worker has taken to ingest its transcript alone. */
export interface TakenJob extends IngestJob {
  /** Outages that have ended an attempt while others continued. */
  outageCount: number;
}

/** Postgres notifies this channel of new jobs. The payload is `alone` or `batch`. */
export const JOB_CHANNEL = 'recount_jobs';

const MAX_BATCH_JOBS = 128;
/**
 * The first jobs of the queue, among which a batch is chosen. It is more than a batch, because jobs of other workspaces
 * are between them.
 */
const MAX_CANDIDATES = 512;
/** A transaction is rolled back as a whole, and no part of it is visible before its end. */
const MAX_BATCH_BYTES = 32 * 1024 * 1024;
/** The time that a worker has to lock the jobs it took, before another one may take them. */
const TAKEN_FOR = sql`interval '5 seconds'`;

/** Inserts jobs of a workspace in the caller's transaction, and notifies workers. Existing jobs stay. */
export async function enqueueJobs(
  transaction: Database,
  workspaceId: string,
  jobs: readonly NewIngestJob[],
  { priority = 0 }: { priority?: number } = {},
): Promise<void> {
  if (jobs.length === 0) return;
  const records = jobs.map(({ transcriptId, sizeBytes, isAlone }) => ({
    transcript_id: transcriptId,
    size_bytes: sizeBytes,
    is_alone: isAlone,
  }));
  await transaction.execute(sql`
    WITH added AS (
      INSERT INTO ${ingestJobs} (workspace_id, transcript_id, size_bytes, priority, is_alone)
      SELECT ${workspaceId}, transcript_id, size_bytes, ${priority}, is_alone
      FROM jsonb_populate_recordset(NULL::${ingestJobs}, ${toJsonText(records)}::jsonb)
      ON CONFLICT DO NOTHING RETURNING is_alone
    )
    SELECT pg_notify(${JOB_CHANNEL}, CASE WHEN is_alone THEN 'alone' ELSE 'batch' END)
    FROM (SELECT DISTINCT is_alone FROM added) AS kinds`);
}

const IS_READY = sql`(not_before IS NULL OR not_before <= now()) AND (taken_at IS NULL OR taken_at < now() - ${TAKEN_FOR})`;

/**
 * Takes small jobs of one workspace, the first of the queue and those that fit into a transaction with it. They are
 * marked in the same statement, so that if the worker is killed with them, each is ingested alone afterwards. The worker then locks
 * them for the time of its work. `isBusy` means that other workers took them at this moment.
 */
export async function takeBatch(database: Database): Promise<{ jobs: IngestJob[]; isBusy: boolean }> {
  const { rows } = await database.execute<{ workspace_id: string | null; ids: string[] | null; waiting: number }>(sql`
    WITH waiting AS MATERIALIZED (
      SELECT workspace_id, transcript_id, size_bytes, row_number() OVER () AS place
      FROM (
        SELECT workspace_id, transcript_id, size_bytes FROM ${ingestJobs} WHERE NOT is_alone AND ${IS_READY}
        ORDER BY priority DESC, created_at, transcript_id LIMIT ${MAX_CANDIDATES}
      ) AS first
    ), chosen AS (
      SELECT workspace_id, transcript_id, place, sum(size_bytes) OVER (ORDER BY place) AS bytes,
        count(*) OVER (ORDER BY place) AS number
      FROM waiting WHERE workspace_id = (SELECT workspace_id FROM waiting WHERE place = 1)
    ), free AS MATERIALIZED (
      SELECT j.workspace_id, j.transcript_id FROM ${ingestJobs} AS j JOIN chosen AS c USING (workspace_id, transcript_id)
      WHERE (c.place = 1 OR c.bytes <= ${MAX_BATCH_BYTES}) AND c.number <= ${MAX_BATCH_JOBS} AND NOT j.is_alone FOR UPDATE OF j SKIP LOCKED
    ), taken AS (
      UPDATE ${ingestJobs} AS j SET is_alone = true, taken_at = now() FROM free AS f
      WHERE j.workspace_id = f.workspace_id AND j.transcript_id = f.transcript_id
      RETURNING j.workspace_id, j.transcript_id
    )
    SELECT (SELECT count(*)::int FROM waiting) AS waiting, max(workspace_id) AS workspace_id,
      array_agg(transcript_id ORDER BY transcript_id) AS ids FROM taken`);
  const { workspace_id: workspaceId = null, ids = null, waiting = 0 } = rows[0] ?? {};
  if (workspaceId === null) return { jobs: [], isBusy: waiting > 0 };
  return { jobs: (ids ?? []).map((transcriptId) => ({ workspaceId, transcriptId })), isBusy: false };
}

/** Takes the first job that is not for a batch; undefined if none is ready. The worker then locks it. */
export async function takeJob(database: Database): Promise<TakenJob | undefined> {
  const { rows } = await database.execute<{ workspace_id: string; transcript_id: string; outage_count: number }>(sql`
    WITH free AS MATERIALIZED (
      SELECT workspace_id, transcript_id FROM ${ingestJobs} WHERE is_alone AND ${IS_READY}
      ORDER BY priority DESC, created_at, transcript_id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE ${ingestJobs} AS j SET taken_at = now() FROM free AS f
    WHERE j.workspace_id = f.workspace_id AND j.transcript_id = f.transcript_id
    RETURNING j.workspace_id, j.transcript_id, j.outage_count`);
  const [row] = rows;
  return row && { workspaceId: row.workspace_id, transcriptId: row.transcript_id, outageCount: row.outage_count };
}

/** The jobs of a workspace that no other transaction holds, held by this one until it ends. */
const selectFree = (workspaceId: string, transcriptIds: readonly string[]): SQL => sql`
  SELECT transcript_id FROM ${ingestJobs}
  WHERE workspace_id = ${workspaceId} AND transcript_id = ANY(${sql.param([...transcriptIds])}::text[])
  ORDER BY transcript_id FOR UPDATE SKIP LOCKED`;

/** Holds jobs until the transaction ends, except those that another one holds; returns the transcripts' ids. */
export async function holdJobs(
  transaction: Database,
  workspaceId: string,
  transcriptIds: readonly string[],
): Promise<Set<string>> {
  const { rows } = await transaction.execute<{ transcript_id: string }>(selectFree(workspaceId, transcriptIds));
  return new Set(rows.map(({ transcript_id }) => transcript_id));
}

/**
 * Deletes jobs that the transaction holds, unless their transcripts still wait to be ingested; returns the ids of those
 * transcripts.
 */
export async function finishJobs(
  transaction: Database,
  workspaceId: string,
  heldIds: readonly string[],
): Promise<string[]> {
  const ids = sql`${sql.param([...heldIds])}::text[]`;
  const { rows } = await transaction.execute<{ id: string }>(sql`
    WITH waiting AS MATERIALIZED (
      SELECT id FROM ${transcripts}
      WHERE workspace_id = ${workspaceId} AND id = ANY(${ids}) AND status IN ('queued', 'processing')
    ), finished AS (
      DELETE FROM ${ingestJobs}
      WHERE workspace_id = ${workspaceId} AND transcript_id = ANY(${ids}) AND transcript_id NOT IN (SELECT id FROM waiting)
    )
    SELECT id FROM waiting`);
  return rows.map(({ id }) => id);
}

export interface Release {
  isAlone: boolean;
  /** The time until a worker may take them again. Default 0. */
  pauseSeconds?: number;
  /** Default false. */
  countsOutage?: boolean;
}

/** Lets workers take jobs again, and notifies them, except those that another transaction holds; returns how many. */
export async function releaseJobs(
  database: Database,
  workspaceId: string,
  transcriptIds: readonly string[],
  { isAlone, pauseSeconds = 0, countsOutage = false }: Release,
): Promise<number> {
  if (transcriptIds.length === 0) return 0;
  const { rows } = await database.execute<{ released: number }>(sql`
    WITH free AS MATERIALIZED (${selectFree(workspaceId, transcriptIds)}), released AS (
      UPDATE ${ingestJobs} SET taken_at = NULL, is_alone = ${isAlone},
        not_before = CASE WHEN ${pauseSeconds}::float8 > 0 THEN now() + ${pauseSeconds}::float8 * interval '1 second' END,
        outage_count = outage_count + ${countsOutage ? 1 : 0}::int
      WHERE workspace_id = ${workspaceId} AND transcript_id IN (SELECT transcript_id FROM free) RETURNING transcript_id
    )
    SELECT count(*)::int AS released,
      CASE WHEN ${pauseSeconds}::float8 = 0 AND count(*) > 0 THEN pg_notify(${JOB_CHANNEL}, ${isAlone ? 'alone' : 'batch'}) END AS note
    FROM released`);
  return rows[0]?.released ?? 0;
}

/**
 * Deletes the jobs of a workspace, or of some of its transcripts, except those that another transaction holds. A worker
 * deletes such a job itself when it finds its transcript gone.
 */
export async function deleteJobs(
  transaction: Database,
  workspaceId: string,
  transcriptIds?: readonly string[],
): Promise<void> {
  const free =
    transcriptIds === undefined
      ? sql`SELECT transcript_id FROM ${ingestJobs} WHERE workspace_id = ${workspaceId} FOR UPDATE SKIP LOCKED`
      : selectFree(workspaceId, transcriptIds);
  await transaction.execute(sql`
    WITH free AS MATERIALIZED (${free})
    DELETE FROM ${ingestJobs} WHERE workspace_id = ${workspaceId} AND transcript_id IN (SELECT transcript_id FROM free)`);
}

/** The given transcripts that have a job; ids of transcripts are unique over all workspaces. */
export async function findJobs(database: Database, jobs: readonly IngestJob[]): Promise<Set<string>> {
  const { rows } = await database.execute<{ transcript_id: string }>(sql`
    SELECT transcript_id FROM ${ingestJobs} WHERE (workspace_id, transcript_id) IN (
      SELECT * FROM unnest(${sql.param(jobs.map(({ workspaceId }) => workspaceId))}::text[],
        ${sql.param(jobs.map(({ transcriptId }) => transcriptId))}::text[]))`);
  return new Set(rows.map(({ transcript_id }) => transcript_id));
}

export interface Backlog {
  /** Jobs that no worker has, including those pausing between attempts. */
  waitingCount: number;
  /** Time since the oldest of them was enqueued; 0 if none is waiting. */
  oldestAgeMs: number;
}

/** Reads all jobs, which takes a few milliseconds for ten thousand. */
export async function readBacklog(database: Database): Promise<Backlog> {
  const { rows } = await database.execute<{ waiting: number; age: number }>(sql`
    SELECT count(*)::int AS waiting, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS age
    FROM ${ingestJobs} WHERE taken_at IS NULL`);
  const { waiting = 0, age = 0 } = rows[0] ?? {};
  return { waitingCount: waiting, oldestAgeMs: Math.max(0, Math.round(age * 1000)) };
}
