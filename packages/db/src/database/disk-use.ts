import { sql } from '../drizzle.cjs';
import type { Database } from './database.ts';

/** Bytes on the database's disk. */
export interface DiskUse {
  databaseBytes: number;
  /** The part that search uses. */
  searchBytes: number;
  /** Write-ahead log, which is not part of the database's size; null if the account may not read it. */
  walBytes: number | null;
}

/** The whole installation's use of PostgreSQL's disk. */
export async function readDiskUse(database: Database): Promise<DiskUse> {
  const { rows } = await database.execute<{ total: number; search: number; sees_wal: boolean }>(sql`
    SELECT pg_database_size(current_database())::float8 AS total,
      (SELECT coalesce(sum(pg_total_relation_size(to_regclass('recount.' || name))), 0)::float8
       FROM unnest(ARRAY['search_segments', 'search_postings', 'search_segment_row_sets']) AS name) AS search,
      has_function_privilege('pg_ls_waldir()', 'EXECUTE') AS sees_wal`);
  const { total = 0, search = 0, sees_wal: seesWal = false } = rows[0] ?? {};
  // A separate statement: PostgreSQL rejects a statement that names a forbidden function, even if it is not called.
  const wal = seesWal
    ? (await database.execute<{ size: number }>(sql`SELECT sum(size)::float8 AS size FROM pg_ls_waldir()`)).rows[0]
    : undefined;
  return { databaseBytes: total, searchBytes: search, walBytes: wal?.size ?? null };
}
