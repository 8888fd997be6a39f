import { getTableConfig, type PgTable, type SQL, sql } from '../drizzle.cjs';
import { transcriptMessages } from '../messages/schema.ts';
import { searchIndexState } from '../search/schema.ts';
import { sessions, transcripts } from '../transcripts/schema.ts';
import { ROLLUPS } from '../usage/rollups-schema.ts';
import { toolCalls, usageEntries, usageLedger } from '../usage/schema.ts';
import type { Database } from './database.ts';

/** Tables in which an ingestion looks rows up, and which grow with it. */
const LOOKED_UP: readonly PgTable[] = [
  transcripts,
  sessions,
  transcriptMessages,
  usageEntries,
  usageLedger,
  toolCalls,
  searchIndexState,
  ...Object.values(ROLLUPS).flatMap(({ quarters, days }) => (quarters ? [quarters, days] : [days])),
];

/** Statistics are outdated once the sessions table is this many times as large as then. */
const GROWTH = 4;

/**
 * Runs ANALYZE on tables that have grown several times over since their last statistics. PostgreSQL takes a minute to
 * do so itself, and meanwhile assumes that they are nearly empty, or that all rows belong to one long transcript, and
 * looks rows up by any index that contains the workspace. Analyzes only key columns, on a sample of rows: takes about
 * 50 ms. Does nothing if another process is doing it, or the account lacks the permission.
 */
export async function refreshStatistics(database: Database): Promise<void> {
  const { rows } = await database.execute<{ has_grown: boolean }>(sql`
    SELECT pg_relation_size(oid) > ${GROWTH}::int * greatest(relpages, 1) * current_setting('block_size')::int AS has_grown
    FROM pg_class WHERE oid = ${toName(sessions)}::regclass`);
  if (rows[0]?.has_grown !== true) return;
  const keys = LOOKED_UP.map((table) => sql`${table} (${sql.raw(toKeyColumns(table).join(', '))})`);
  await database.execute(sql`ANALYZE (SKIP_LOCKED) ${sql.join(keys, sql`, `)}`);
}

function toName(table: PgTable): SQL {
  const { schema = 'public', name } = getTableConfig(table);
  return sql`${`${schema}.${name}`}`;
}

/** Columns of keys and indexes. */
function toKeyColumns(table: PgTable): string[] {
  const { primaryKeys, uniqueConstraints, indexes } = getTableConfig(table);
  const keys = [...primaryKeys, ...uniqueConstraints].flatMap(({ columns }) => columns);
  const indexed = indexes.flatMap(({ config }) => config.columns);
  const names = [...keys, ...indexed].flatMap((column) =>
    'name' in column && typeof column.name === 'string' ? [column.name] : [],
  );
  return [...new Set(names)];
}
