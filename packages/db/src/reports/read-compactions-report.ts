import type { ReportBody, ReportTotals } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { detailNumber, readEvents } from './event-source.ts';
import { type ReportPage, readGroups } from './report-groups.ts';

type CompactionFigures = ReportTotals<'compactions'>;

/** Compactions of the context by their trigger. */
export async function readCompactionsReport(
  database: Database,
  filter: ReportFilter,
  page: ReportPage,
): Promise<ReportBody<'compactions'>> {
  return await readGroups<CompactionFigures, CompactionFigures, { trigger: string | null }>(database, filter, page, {
    parts: [
      {
        ...readEvents(filter, ['compaction']),
        keys: { trigger: sql`e.name` },
        columns: { session_id: sql`e.session_id`, pre_tokens: detailNumber('preTokens') },
      },
    ],
    aggregates: {
      compactions: sql`count(*)::float8`,
      sessions: sql`count(DISTINCT session_id)::float8`,
      pre_tokens_p50: sql`percentile_disc(0.5) WITHIN GROUP (ORDER BY pre_tokens)`,
      pre_tokens_max: sql`max(pre_tokens)`,
    },
    order: sql`compactions DESC`,
    toFigures: ({ compactions, sessions, pre_tokens_p50, pre_tokens_max }) => ({
      compactions,
      sessions,
      pre_tokens_p50,
      pre_tokens_max,
    }),
  });
}
