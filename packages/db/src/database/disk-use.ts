import { sql } from '../drizzle.cjs';
import { askNodes, isOnCluster } from './cluster.ts';
import type { Database } from './database.ts';

/** Bytes on the database's disk. */
export interface DiskUse {
  databaseBytes: number;
  /** The part that search uses. */
  searchBytes: number;
  /** Write-ahead log, which is not part of the database's size; null if the account may not read it. */
  walBytes: number | null;
}

/**
 * The whole installation's use of PostgreSQL's disk, on a Citus cluster of all nodes.
 * @throws DistributionError if a node does not answer
 */
export async function readDiskUse(database: Database): Promise<DiskUse> {
  return (await isOnCluster(database)) ? await readDiskUseOfNodes(database) : await readOwnDiskUse(database);
}

/** Shards have the names of their tables, with a number. */
const OWN_SIZES = `
  SELECT json_build_object('total', pg_database_size(current_database()), 'search', (
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)
    FROM pg_class AS c WHERE c.relnamespace = 'recount'::regnamespace AND c.relkind = 'r'
      AND c.relname ~ '^search_(segments|postings|segment_row_sets)(_[0-9]+)?$'))`;

async function readDiskUseOfNodes(database: Database): Promise<DiskUse> {
  const sizes = (await askNodes(database, OWN_SIZES)).map(
    (text) => JSON.parse(text) as Record<'total' | 'search', number>,
  );
  const sum = (name: 'total' | 'search'): number => sizes.reduce((bytes, size) => bytes + size[name], 0);
  // The log's size needs a role that may read it on every node.
  return { databaseBytes: sum('total'), searchBytes: sum('search'), walBytes: null };
}

async function readOwnDiskUse(database: Database): Promise<DiskUse> {
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
