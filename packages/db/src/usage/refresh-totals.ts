import type { Database, DatabasePool } from '../database/database.ts';
import { lockWorkspace } from '../database/locks.ts';
import { getTableColumns, type PgTable, type SQL, sql } from '../drizzle.cjs';
import { checkSchemaVersion } from '../migrations/migrate-database.ts';
import { ROLLUPS, type RollupName, TOTALS_KINDS, type TotalsKind, toTotalUnit } from '../schema/rollup-tables.ts';
import { ATTRIBUTION, sessionTotal, staleDays } from '../schema/rollups.ts';
import { joinAttribution } from './attribution.ts';
import { COUNTED_ROLLUPS, selectSessionTotals } from './session-totals.ts';
import { fromDays, listStaleDays, toDay, toDays } from './stale-days.ts';

/** Days refreshed in one transaction. */
const DAYS_PER_STEP = 50;

/** The roll-ups' totals of a kind. */
export const listTotals = (kind: TotalsKind): { name: RollupName; table: PgTable }[] =>
  (Object.keys(ROLLUPS) as RollupName[]).flatMap((name) => {
    const totals = ROLLUPS[name].totals?.[kind];
    return totals === undefined ? [] : [{ name, table: totals.table }];
  });

/** A query of the rows that totals should have, on some UTC days, or all of the workspace's. */
export function selectTotals(name: RollupName, kind: TotalsKind, workspaceId: string, days?: readonly string[]): SQL {
  const { buckets, days: dayTable, sums, lists } = ROLLUPS[name];
  const totals = ROLLUPS[name].totals?.[kind];
  if (totals === undefined) throw new TypeError(`There are no such totals of ${name}`);
  const unit = toTotalUnit(ROLLUPS[name], kind);
  const [table, first, last] =
    buckets !== undefined && unit === 'hour'
      ? [buckets, 'bucket_start', 'bucket_start']
      : [dayTable, 'first_bucket_start', 'last_bucket_start'];
  const types = Object.fromEntries(
    Object.values(getTableColumns(totals.table)).map((column) => [column.name, column.getSQLType()]),
  );
  const rows = days === undefined ? sql`${table} AS d` : fromDays(table, first, workspaceId, days);
  const isAttributed = kind === 'attributed';
  const keys = [...(isAttributed ? ATTRIBUTION.map((key) => `s.${key}`) : []), ...totals.keys.map((key) => `d.${key}`)];
  return sql`
    SELECT d.workspace_id, min(${sql.raw(`d.${first}`)}) AS first_bucket_start, max(${sql.raw(`d.${last}`)}) AS last_bucket_start,
      ${sql.raw(
        [
          ...keys,
          ...sums.map((sum) => `sum(d.${sum})::${types[sum]} AS ${sum}`),
          ...lists.map((list) => `string_agg(d.${list}, ''::bytea ORDER BY d.${list}) AS ${list}`),
        ].join(', '),
      )}
    FROM ${rows} ${isAttributed ? joinAttribution('d', workspaceId) : sql``}
    WHERE d.workspace_id = ${workspaceId} AND ${sql.raw(`d.${first}`)} IS NOT NULL
    GROUP BY d.workspace_id, ${sql.raw(keys.join(', '))}, date_bin(${sql.raw(`'1 ${unit}'`)}, ${sql.raw(`d.${first}`)}, '2000-01-01Z')`;
}

/**
 * Rebuilds the totals of the workspace's stale days, after any refresh that is already running. Returns the number of days.
 * Throws SchemaVersionError, and leaves days stale, if a newer program has migrated the database.
 */
export async function refreshTotals(
  { withTransaction }: Pick<DatabasePool, 'withTransaction'>,
  workspaceId: string,
  signal?: AbortSignal,
): Promise<number> {
  let count = 0;
  for (;;) {
    const days = await withTransaction((transaction) => refreshDays(transaction, workspaceId), { signal });
    count += days;
    if (days < DAYS_PER_STEP) return count;
  }
}

/**
 * Removes the marks before it reads the roll-ups. A change that is committed in between leaves a separate mark, which
 * stays, whether these sums include the change or not.
 */
async function refreshDays(transaction: Database, workspaceId: string): Promise<number> {
  await lockWorkspace(transaction, workspaceId, 'shared');
  await transaction.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`totals/${workspaceId}`}, 0))`);
  const days = await listStaleDays(transaction, workspaceId, DAYS_PER_STEP);
  if (days.length === 0) return 0;
  // A migration that adds to the totals marks days. A reader of these marks sees that it lacks what was added.
  await checkSchemaVersion(transaction);
  await transaction.execute(sql`
    DELETE FROM ${staleDays} WHERE workspace_id = ${workspaceId} AND day = ANY(${toDays(days)})`);
  const clear = async (table: PgTable, time: string) =>
    await transaction.execute(sql`
      DELETE FROM ${table} WHERE workspace_id = ${workspaceId} AND ${toDay(time)} = ANY(${toDays(days)})`);
  for (const kind of TOTALS_KINDS) {
    for (const { name, table } of listTotals(kind)) {
      await clear(table, 'first_bucket_start');
      await insert(transaction, table, selectTotals(name, kind, workspaceId, days));
    }
  }
  await clear(sessionTotal, 'period_start');
  for (const rollup of COUNTED_ROLLUPS) {
    await insert(transaction, sessionTotal, selectSessionTotals(rollup, workspaceId, days));
  }
  return days.length;
}

async function insert(transaction: Database, table: PgTable, rows: SQL): Promise<void> {
  const columns = sql.raw(Object.keys(getTableColumns(table)).join(', '));
  await transaction.execute(sql`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM (${rows}) AS total`);
}
