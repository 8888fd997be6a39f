import type { ReportBody, ReportTotals } from '@recount/contract';
import type { UsageSums } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { GroupPart } from './group-part.ts';
import { type ReportPage, readGroups } from './report-groups.ts';
import type { ReportKey } from './report-keys.ts';
import { toReportSource } from './report-source.ts';
import { fromTotals } from './totals-source.ts';
import { ROLLUP_SUMS, sumUsage, toPrefixedFigures } from './usage-figures.ts';

type UsageReportFigures = ReportTotals<'usage'>;

type Sums = Record<
  'sessions' | 'messages' | 'user_messages' | `own_${keyof UsageSums}` | `shared_${keyof UsageSums}`,
  number
>;

export const USAGE_SOURCE = toReportSource('u', {
  time: 'bucket_start',
  own: ['model', 'git_branch', 'agent_version', 'kind_of_work'],
});
const MESSAGE_SOURCE = toReportSource('m', { time: 'bucket_start' });

export const USAGE_TABLE = fromTotals('usage', 'u');

/** Keys that messages do not have. */
const OF_RESPONSES: ReadonlySet<ReportKey> = new Set(['model', 'git_branch', 'agent_version', 'kind_of_work']);

const USAGE: GroupPart = {
  source: USAGE_SOURCE,
  table: USAGE_TABLE,
  counted: 'usage',
  groupedColumns: ['is_shared'],
  columns: {
    is_shared: sql`u.is_shared`,
    ...ROLLUP_SUMS,
    messages: sql`NULL::bigint`,
    user_messages: sql`NULL::bigint`,
  },
};

const MESSAGES: GroupPart = {
  source: MESSAGE_SOURCE,
  table: fromTotals('message', 'm'),
  groupedColumns: [],
  columns: { messages: sql`sum(m.messages)`, user_messages: sql`sum(m.user_messages)` },
};

/** Usage by any keys except `tool`. */
export async function readUsageReport(
  database: Database,
  filter: ReportFilter,
  page: ReportPage,
): Promise<ReportBody<'usage'>> {
  const isOfMessages =
    filter.model === undefined &&
    filter.gitBranch === undefined &&
    filter.kindOfWork === undefined &&
    !page.groupBy?.some((key) => OF_RESPONSES.has(key));
  return await readGroups<Sums, UsageReportFigures>(database, filter, page, {
    parts: isOfMessages ? [USAGE, MESSAGES] : [USAGE],
    countsSessions: true,
    aggregates: {
      messages: sql`coalesce(sum(messages), 0)::float8`,
      user_messages: sql`coalesce(sum(user_messages), 0)::float8`,
      ...sumUsage('own_', sql`NOT is_shared`),
      ...sumUsage('shared_', sql`is_shared`),
    },
    order: sql`own_cost_units DESC, own_responses DESC`,
    ranking: [
      sql`sum(u.cost_units) FILTER (WHERE NOT u.is_shared)`,
      sql`recount.sum_bigint(u.responses) FILTER (WHERE NOT u.is_shared)`,
    ],
    toFigures: (sums) => ({
      sessions: sums.sessions,
      messages: isOfMessages ? sums.messages : null,
      user_messages: isOfMessages ? sums.user_messages : null,
      own: toPrefixedFigures(sums, 'own_'),
      shared: toPrefixedFigures(sums, 'shared_'),
    }),
  });
}
