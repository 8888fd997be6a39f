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

/** Statistics are as old as that where the sessions take so many times the room that they took then. */
const GROWTH = 4;

/**
 * Has PostgreSQL look at its tables again where they have grown several times over since it did: a minute passes before it
 * does so by itself, in which it takes them for nearly empty, or all of their rows for those of one long transcript, and
 * looks rows up by whatever index names their workspace. Only at the columns of keys, of a sample of rows: some 50 ms.
 * Where somebody else does it just now, or the account may not, nothing happens.
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

/** Those that keys and indexes are made of. */
function toKeyColumns(table: PgTable): string[] {
  const { primaryKeys, uniqueConstraints, indexes } = getTableConfig(table);
  const keys = [...primaryKeys, ...uniqueConstraints].flatMap(({ columns }) => columns);
  const indexed = indexes.flatMap(({ config }) => config.columns);
  const names = [...keys, ...indexed].flatMap((column) =>
    'name' in column && typeof column.name === 'string' ? [column.name] : [],
  );
  return [...new Set(names)];
}
