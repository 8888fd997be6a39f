import type { DatabasePool } from '@recount/db';
import { readServerCpuSeconds } from './process-resources.ts';

/** The work of the server since it started, in the pool's database if the server counts by database. */
export interface ServerCounters {
  postgresCpuSeconds: number;
  walBytes: number;
  /** Bytes of WAL that are full-page images, written at the first change after a checkpoint. */
  walPageBytes: number;
  commits: number;
  deadlocks: number;
  statements: number;
}

const PAGE_BYTES = 8192;

export async function readServerCounters({ pool }: DatabasePool): Promise<ServerCounters> {
  const { rows } = await pool.query<
    { pid: number } & Record<Exclude<keyof ServerCounters, 'postgresCpuSeconds'>, number>
  >(
    `SELECT pg_backend_pid() AS pid, (pg_current_wal_insert_lsn() - '0/0')::float8 AS "walBytes",
       (SELECT wal_fpi * $1::float8 FROM pg_stat_wal) AS "walPageBytes",
       xact_commit::float8 AS commits, deadlocks::float8 AS deadlocks,
       (SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements AS s WHERE s.dbid = d.datid) AS statements
     FROM pg_stat_database AS d WHERE datname = current_database()`,
    [PAGE_BYTES],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('The server has no figures of the database');
  const { pid, ...counters } = row;
  return { ...counters, postgresCpuSeconds: await readServerCpuSeconds(pid) };
}

/** Server time and calls of statements with one purpose. */
export interface StatementShare {
  purpose: string;
  calls: number;
  milliseconds: number;
  walBytes: number;
}

/** The first match counts. */
const PURPOSES: readonly (readonly [purpose: string, pattern: string])[] = [
  ['rows by COPY', '^COPY'],
  ['commit', '^COMMIT'],
  ['roll-ups', 'rolled_up|deleted_usage_rollup|"?(usage|tool|message)_rollup"?'],
  ['search', 'search_(segments|postings|segment_row_sets|waiting)'],
  ['usage ledger', 'usage_ledger|usage_entries|tool_calls'],
  ['queue', 'ingest_jobs'],
  ['other', ''],
];

/** Statements of the pool's database since its figures were reset, by purpose, most expensive first. */
export async function readStatementShares({ pool }: DatabasePool): Promise<StatementShare[]> {
  const cases = PURPOSES.map((_, index) => `WHEN query ~* $${index * 2 + 2} THEN $${index * 2 + 1}`).join(' ');
  const { rows } = await pool.query<StatementShare>(
    `SELECT CASE ${cases} END AS purpose, sum(calls)::float8 AS calls, sum(total_exec_time)::float8 AS milliseconds,
       sum(wal_bytes)::float8 AS "walBytes"
     FROM pg_stat_statements AS s JOIN pg_database AS d ON d.oid = s.dbid AND d.datname = current_database()
     GROUP BY 1 ORDER BY 3 DESC`,
    PURPOSES.flat(),
  );
  return rows;
}

export interface RelationSize {
  name: string;
  /** The table with its TOAST table, or one index. */
  kind: 'table' | 'index';
  bytes: number;
}

/** Tables and indexes of recount, largest first. */
export async function readRelationSizes({ pool }: DatabasePool): Promise<RelationSize[]> {
  const { rows } = await pool.query<RelationSize>(
    `SELECT c.relname AS name, CASE c.relkind WHEN 'r' THEN 'table' ELSE 'index' END AS kind,
       CASE c.relkind WHEN 'r' THEN pg_table_size(c.oid) ELSE pg_relation_size(c.oid) END::float8 AS bytes
     FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = 'recount' AND c.relkind IN ('r', 'i') ORDER BY 3 DESC`,
  );
  return rows;
}
