/**
 * What PostgreSQL's planner is told. It plans by statistics, which are made about a minute after rows came. Until then it takes a
 * new workspace for empty and tables for small, and reads all rows of a workspace, or of a table, where a few are looked up by
 * their key: a thousand times the work for each transcript. Statements must be fast in the minute in which a workspace is
 * filled, so they leave the planner no such choice:
 *
 * - a workspace's id is hidden from the statistics (`isInWorkspace`, `toHiddenWorkspace`);
 * - a lookup row by row is `JOIN LATERAL (SELECT … OFFSET 0)`, which the planner cannot turn into another join;
 * - a transaction that only looks rows up switches the other ways off (`preferIndexes`), and one that reads everything switches
 *   lookups off (`preferScans`);
 * - before a group of small transcripts, statistics are made if they are old (`refreshStatistics`).
 */
import type { Database } from './database/database.ts';
import { type SQL, sql } from './drizzle.cjs';

/** Condition that `workspace_id` and `column`, both of `alias`, are the workspace and one of the ids: joined, not compared. */
export function isInWorkspace(alias: string, column: string, workspaceId: string, ids: readonly string[]): SQL {
  const [workspace, id] = [sql.raw(`${alias}.workspace_id`), sql.raw(`${alias}.${column}`)];
  return sql`(${workspace}, ${id}) IN (
    SELECT * FROM unnest(${sql.param(ids.map(() => workspaceId))}::text[], ${sql.param([...ids])}::text[]))`;
}

/** The workspace's id for comparisons, as a value that the planner does not know. */
export const toHiddenWorkspace = (workspaceId: string): SQL => sql`(SELECT ${workspaceId}::text)`;

/** Lets the rest of the transaction look rows up one by one, as an ingestion does with all that it reads. */
export async function preferIndexes(transaction: Database): Promise<void> {
  await transaction.execute(sql`
    SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) AS name`);
}

/**
 * Settings for a batch of search documents, until the end of the transaction: rows are looked up one by one, and what goes into
 * the index is gathered until it is merged, as an insertion by itself finds its place for each of some hundred entries.
 */
export async function preferBulkIndexing(transaction: Database): Promise<void> {
  await preferIndexes(transaction);
  await transaction.execute(sql`
    SELECT set_config('gin_pending_list_limit', '32MB', true), set_config('work_mem', '64MB', true)`);
}

/** Runs `work`, which compares whole tables, without looking rows of one up in the other. */
export async function preferScans<T>(transaction: Database, work: () => Promise<T>): Promise<T> {
  await transaction.execute(sql`SET LOCAL enable_nestloop = off`);
  const result = await work();
  await transaction.execute(sql`SET LOCAL enable_nestloop TO DEFAULT`);
  return result;
}

/**
 * Settings for reports, until the end of the transaction: sums are made by hashing, as a report has few groups of many rows,
 * for which Postgres would plan to sort them all; compiling a query would take longer than running it.
 */
export async function preferHashing(transaction: Database): Promise<void> {
  await transaction.execute(sql`
    SELECT set_config('work_mem', '16MB', true), set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`);
}
