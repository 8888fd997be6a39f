import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { ROLLUPS, SESSION_TOTALS, type SessionTotalName, toTotalUnit } from '../schema/rollup-tables.ts';
import { fromDays, toDay, toDays } from './stale-days.ts';

type CountedRollup = (typeof SESSION_TOTALS)[SessionTotalName]['rollup'];

/** The roll-ups whose sessions are counted. */
export const COUNTED_ROLLUPS: readonly CountedRollup[] = ['usage', 'tool', 'file'];

/**
 * The name of a count in `session_total`, of all sessions that have such rows, or of the sessions of each value of the
 * key.
 */
export const toCounted = (name: SessionTotalName, isByKey: boolean): string =>
  isByKey ? `${name}/${SESSION_TOTALS[name].key}` : name;

/** A query of the rows that session_total should have from a roll-up, on some UTC days, or all of the workspace's. */
export function selectSessionTotals(rollup: CountedRollup, workspaceId: string, days?: readonly string[]): SQL {
  const { buckets, days: dayTable } = ROLLUPS[rollup];
  const [table, first, last] =
    buckets === undefined
      ? [dayTable, 'first_bucket_start', 'last_bucket_start']
      : [buckets, 'bucket_start', 'bucket_start'];
  const timed = sql`${sql.raw(`r.${first}`)} IS NOT NULL`;
  // All rows of the sessions that are active on the days, because earlier rows show their earlier activity.
  const rows =
    days === undefined
      ? sql`${table} AS r`
      : sql`(SELECT DISTINCT d.session_id FROM ${fromDays(table, first, workspaceId, days)}) AS s CROSS JOIN LATERAL (
          SELECT * FROM ${table} WHERE workspace_id = ${opaqueWorkspaceId(workspaceId)} AND session_id = s.session_id OFFSET 0
        ) AS r`;
  const start = sql.raw(`date_bin('1 ${toTotalUnit(ROLLUPS[rollup])}', r.${first}, '2000-01-01Z')`);
  return sql`
    SELECT workspace_id, counted, key, period_start, previous_bucket_start, count(*)::int AS sessions FROM (
      SELECT r.workspace_id, c.counted, c.key, ${start} AS period_start,
        lag(max(${sql.raw(`r.${last}`)})) OVER (PARTITION BY r.session_id, c.counted, c.key ORDER BY ${start}) AS previous_bucket_start
      FROM ${rows} CROSS JOIN LATERAL (VALUES ${sql.raw(listCounted(rollup))}) AS c (counted, key, is_counted)
      WHERE r.workspace_id = ${workspaceId} AND ${timed} AND c.is_counted
      GROUP BY r.workspace_id, r.session_id, c.counted, c.key, ${start}
    ) AS active
    ${days === undefined ? sql`` : sql`WHERE ${toDay('period_start')} = ANY(${toDays(days)})`}
    GROUP BY workspace_id, counted, key, period_start, previous_bucket_start`;
}

/**
 * VALUES of the names that a roll-up's row `r` counts its session for (the name of the count, the key's value, and a
 * flag if it counts).
 */
function listCounted(rollup: CountedRollup): string {
  const names = (Object.keys(SESSION_TOTALS) as SessionTotalName[]).filter(
    (name) => SESSION_TOTALS[name].rollup === rollup,
  );
  const values = names.flatMap((name) => {
    const { where, column } = SESSION_TOTALS[name];
    const inTotal = `('${toCounted(name, false)}', NULL::text, ${where})`;
    return column === undefined ? [inTotal] : [inTotal, `('${toCounted(name, true)}', r.${column}, ${where})`];
  });
  return values.join(', ');
}
