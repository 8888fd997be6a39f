import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import { type ReportFilter, toReportSource } from './report-filter.ts';
import { type GroupPart, type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import { fromRollup } from './rollup-source.ts';
import { toRollupSums, toSum, toTokenEstimate } from './tool-call-figures.ts';

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

const ORDERS = { calls: sql`calls DESC`, reads: sql`reads DESC`, edits: sql`edits DESC` };

const CALLS: GroupPart = {
  source: toReportSource('r', { time: 'bucket_start', own: ['model'] }),
  table: fromRollup('file', 'r'),
  keys: { file_path: sql`r.file_path`, project: sql`s.project` },
  groupedColumns: [],
  columns: toRollupSums(['calls', 'reads', 'edits', 'errors', 'output_bytes']),
};

/** Files that tools read and edited, by path and project. */
export async function readFilesReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'> & { sort: FileSort },
): Promise<ReportRows<FileFigures & FileKeys, FileFigures & { files: number }>> {
  const { rows, totals, truncated, groupCount } = await readGroups<
    Omit<FileFigures, 'estimated_tokens'>,
    FileFigures,
    FileKeys
  >(database, filter, page, {
    parts: [CALLS],
    countsSessions: true,
    aggregates: {
      calls: toSum('calls'),
      reads: toSum('reads'),
      edits: toSum('edits'),
      errors: toSum('errors'),
      output_bytes: toSum('output_bytes'),
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
