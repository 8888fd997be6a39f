import type { ReportBody, ReportRow } from '@recount/contract';
import { toUsageFigures, type UsageSums } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { GroupPart } from './group-part.ts';
import { toIso } from './local-days.ts';
import { USAGE_SOURCE, USAGE_TABLE } from './read-usage-report.ts';
import { type ReportPage, readGroups } from './report-groups.ts';
import { ROLLUP_SUMS, sumUsage } from './usage-figures.ts';

type ModelFigures = Omit<ReportRow<'models'>, 'model'>;

type Sums = UsageSums & { sessions: number; first_ms: number | null; last_ms: number | null };

/** Own and shared responses. The sessions of a model are those that contain one, as in every report of usage. */
const CONTAINED: GroupPart = {
  source: USAGE_SOURCE,
  table: USAGE_TABLE,
  keys: { model: sql`u.model` },
  columns: {},
  counted: 'usage',
};

const CREDITED: GroupPart = {
  source: USAGE_SOURCE,
  table: USAGE_TABLE,
  keys: { model: sql`u.model` },
  groupedColumns: [],
  columns: {
    ...ROLLUP_SUMS,
    first_used: sql`min(u.bucket_start)`,
    last_used: sql`max(u.last_bucket_start)`,
  },
  where: sql`NOT u.is_shared`,
};

/** Models in use, including those without a price. */
export async function readModelsReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'>,
): Promise<ReportBody<'models'>> {
  const { rows, totals, truncated, groupCount } = await readGroups<Sums, ModelFigures, { model: string | null }>(
    database,
    filter,
    page,
    {
      parts: [CREDITED],
      countsSessions: CONTAINED,
      aggregates: {
        ...sumUsage(),
        first_ms: sql`extract(epoch FROM min(first_used))::float8 * 1000`,
        last_ms: sql`extract(epoch FROM max(last_used))::float8 * 1000`,
      },
      order: sql`cost_units DESC, responses DESC`,
      toFigures: (sums) => ({
        is_priced: sums.unpriced_responses === 0,
        sessions: sums.sessions,
        first_used: toIso(sums.first_ms),
        last_used: toIso(sums.last_ms),
        ...toUsageFigures(sums),
      }),
    },
  );
  return { rows, totals: { models: groupCount, ...totals }, truncated };
}
