import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import type { ReportFilter } from './report-filter.ts';
import { type GroupPart, type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import { CALL_SUMS, type CallSums, EACH_CALL, toTokenEstimate } from './tool-call-figures.ts';

export interface FileFigures {
  calls: number;
  reads: number;
  /** Edits and writes that did not fail. */
  edits: number;
  errors: number;
  sessions: number;
  output_bytes: number;
  estimated_tokens: number;
}

export type FileSort = 'calls' | 'reads' | 'edits';

type FileKeys = { file_path: string; project: string | null };

const IS_READ = sql`c.tool_name = 'Read'`;
const ORDERS = { calls: sql`calls DESC`, reads: sql`reads DESC`, edits: sql`edits DESC` };

const CALLS: GroupPart = {
  ...EACH_CALL,
  keys: { file_path: sql`c.file_path`, project: sql`s.project` },
  columns: {
    ...EACH_CALL.columns,
    is_read: IS_READ,
    is_edit: sql`NOT (${IS_READ}) AND c.is_error IS NOT TRUE`,
  },
  where: sql`${EACH_CALL.where} AND c.file_path IS NOT NULL`,
};

/** Files that tools read and edited, by path and project. */
export async function readFilesReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'> & { sort: FileSort },
): Promise<ReportRows<FileFigures & FileKeys, FileFigures & { files: number }>> {
  const { rows, totals, truncated, groupCount } = await readGroups<
    CallSums & Record<'reads' | 'edits', number>,
    FileFigures,
    FileKeys
  >(database, filter, page, {
    parts: [CALLS],
    sessionsOf: CALLS,
    aggregates: {
      ...CALL_SUMS,
      reads: sql`(count(*) FILTER (WHERE is_read))::float8`,
      edits: sql`(count(*) FILTER (WHERE is_edit))::float8`,
    },
    order: ORDERS[page.sort],
    toFigures: ({ calls, reads, edits, errors, sessions, output_bytes }) => ({
      calls,
      reads,
      edits,
      errors,
      sessions,
      output_bytes,
      estimated_tokens: toTokenEstimate(output_bytes),
    }),
  });
  return { rows, totals: { files: groupCount, ...totals }, truncated };
}
