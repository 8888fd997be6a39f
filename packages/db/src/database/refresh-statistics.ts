import { getTableConfig, type PgTable, sql } from '../drizzle.cjs';
import { transcriptMessages } from '../schema/messages.ts';
import { ROLLUPS } from '../schema/rollup-tables.ts';
import { searchSegmentRowSets } from '../schema/search.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { toolCalls, usageEntries, usageLedger } from '../schema/usage.ts';
import type { Database } from './database.ts';
import { type AnalyzedTable, refreshShardStatistics } from './planner.ts';

/** Tables where an ingestion looks rows up, and which grow with it; the first one shows how much. */
const LOOKED_UP: readonly [AnalyzedTable, ...AnalyzedTable[]] = [
  toAnalyzedTable(sessions),
  ...[
    transcripts,
    transcriptMessages,
    usageEntries,
    usageLedger,
    toolCalls,
    searchSegmentRowSets,
    ...Object.values(ROLLUPS).flatMap(({ buckets, days }) => (buckets ? [buckets, days] : [days])),
  ].map(toAnalyzedTable),
];

/** Statistics are outdated once the sessions table is this many times as large as then. */
const GROWTH = 4;

/**
 * Runs ANALYZE on tables that have grown several times over since their last statistics. PostgreSQL takes a minute to
 * do so itself, and until then assumes that they are nearly empty, or that all rows belong to one long transcript, and
 * looks rows up by any index that contains the workspace. Analyzes only key columns, on a sample of rows. It takes
 * about 50 ms. Does nothing if another process is doing it, or the account lacks the permission.
 */
export async function refreshStatistics(database: Database, workspaceId: string): Promise<void> {
  const { rows } = await database.execute<{ has_grown: boolean; is_citus: boolean }>(sql`
    SELECT pg_relation_size(oid) > ${GROWTH}::int * greatest(relpages, 1) * current_setting('block_size')::int AS has_grown,
      to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS is_citus
    FROM pg_class WHERE oid = ${LOOKED_UP[0].name}::regclass`);
  if (rows[0]?.has_grown === true) {
    const keys = LOOKED_UP.map(({ name, columns }) => `${name} (${columns.join(', ')})`);
    await database.execute(sql.raw(`ANALYZE (SKIP_LOCKED) ${keys.join(', ')}`));
  } else if (rows[0]?.is_citus === true) await refreshShardStatistics(database, workspaceId, LOOKED_UP);
}

/** With the columns of its keys and indexes. */
function toAnalyzedTable(table: PgTable): AnalyzedTable {
  const { schema = 'public', name, primaryKeys, uniqueConstraints, indexes } = getTableConfig(table);
  const keys = [...primaryKeys, ...uniqueConstraints].flatMap(({ columns }) => columns);
  const indexed = indexes.flatMap(({ config }) => config.columns);
  const names = [...keys, ...indexed].flatMap((column) =>
    'name' in column && typeof column.name === 'string' ? [column.name] : [],
  );
  return { name: `${schema}.${name}`, columns: [...new Set(names)] };
}
