import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { fromPart, type GroupPart, toColumns, toKeys, withQueries } from './group-part.ts';
import { createScope } from './report-groups.ts';
import { type ReportKey, toText } from './report-keys.ts';

/** The keys of a group with some of its calls' durations. */
export type DurationList = Record<string, unknown> & { durations: Buffer };

/** 0.4 MB of durations if 100,000 sessions a year call ten tools. */
const ROWS_PER_FETCH = 500;

/**
 * Reads the column `durations` of the part's rows, with keys as in reports, in many short lists for each group, with
 * some in memory at a time. Requires a transaction.
 */
export async function* readDurationLists(
  database: Database,
  filter: ReportFilter,
  groupBy: readonly ReportKey[],
  part: Pick<GroupPart, 'source' | 'table' | 'keys' | 'where'>,
): AsyncGenerator<readonly DurationList[]> {
  const scope = await createScope(database, filter, groupBy, [part]);
  const keys = toKeys(part, scope);
  const texts = keys.map(([name]): [string, SQL] => [name, toText(name, scope)]);
  // Totals have a row for each day and tool; rows of sessions are many more, and shorter.
  const isTotal = typeof part.table === 'function' && part.table(scope).hasTotals === true;
  const lists = isTotal ? sql`r.durations` : sql`string_agg(r.durations, ''::bytea)`;
  const groups = sql.join(
    [...keys.map((_, index) => sql.raw(`${index + 1}`)), sql`date_bin('1 day', ${part.source.time}, '2000-01-01Z')`],
    sql`, `,
  );
  await database.execute(sql`
    DECLARE recount_durations NO SCROLL CURSOR FOR ${withQueries([part], scope)}
    SELECT ${toColumns([...texts, ['durations', sql`g.durations`]])} FROM (
      SELECT ${toColumns([...keys, ['durations', lists]])} ${fromPart(part, scope)}
      ${isTotal ? sql`` : sql`GROUP BY ${groups}`}
    ) AS g`);
  for (;;) {
    const { rows } = await database.execute<DurationList>(
      sql.raw(`FETCH FORWARD ${ROWS_PER_FETCH} FROM recount_durations`),
    );
    if (rows.length > 0) yield rows;
    if (rows.length < ROWS_PER_FETCH) break;
  }
  await database.execute(sql`CLOSE recount_durations`);
}
