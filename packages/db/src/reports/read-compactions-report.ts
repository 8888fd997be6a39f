import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { type ReportFilter, toReportSource } from './report-filter.ts';
import { type GroupValues, type ReportPage, type ReportRows, readGroups } from './report-groups.ts';

export interface CompactionFigures {
  compactions: number;
  sessions: number;
  /** Tokens in the context before, as far as lines state them. */
  pre_tokens_p50: number | null;
  pre_tokens_max: number | null;
}

type CompactionKeys = { trigger: string | null };

/** The view that has each event once, however many transcripts have a copy of its line. */
export const EVENT_SOURCE = toReportSource('e', { time: 'timestamp' });
export const EVENT_TABLE = sql`analytics.session_events AS e`;

/** A number in an event's details; null if missing. */
export const detailNumber = (name: string) =>
  sql.raw(`CASE WHEN jsonb_typeof(e.details -> '${name}') = 'number' THEN (e.details ->> '${name}')::float8 END`);

/** Compactions of the context by their trigger. */
export async function readCompactionsReport(
  database: Database,
  filter: ReportFilter,
  page: ReportPage,
): Promise<ReportRows<CompactionFigures & CompactionKeys & GroupValues, CompactionFigures>> {
  return await readGroups<CompactionFigures, CompactionFigures, CompactionKeys>(database, filter, page, {
    parts: [
      {
        source: EVENT_SOURCE,
        table: EVENT_TABLE,
        keys: { trigger: sql`e.name` },
        columns: { session_id: sql`e.session_id`, pre_tokens: detailNumber('preTokens') },
        where: sql`e.kind = 'compaction'`,
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
