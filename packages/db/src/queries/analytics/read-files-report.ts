import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import type { ReportFilter } from './report-filter.ts';
import { type GroupPart, type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import { CALL_SUMS, type CallSums, SINGLE_CALLS, toTokenEstimate } from './tool-call-figures.ts';

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
  ...SINGLE_CALLS,
  keys: { file_path: sql`c.file_path`, project: sql`s.project` },
  columns: {
    ...SINGLE_CALLS.columns,
    reads: sql`count(*) FILTER (WHERE ${IS_READ})`,
    edits: sql`count(*) FILTER (WHERE NOT (${IS_READ}) AND c.is_error IS NOT TRUE)`,
  },
  where: sql`${SINGLE_CALLS.where} AND c.file_path IS NOT NULL`,
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
    countsSessions: 'at-once',
    aggregates: {
      ...CALL_SUMS,
      reads: sql`coalesce(sum(reads), 0)::float8`,
      edits: sql`coalesce(sum(edits), 0)::float8`,
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
