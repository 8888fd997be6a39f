import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { type GroupPart, restrict } from './group-part.ts';
import { type ReportFilter, toReportSource } from './report-filter.ts';
import { type ReportPage, type ReportRows, readGroups, readSessionCounts } from './report-groups.ts';
import { fromRollup } from './rollup-source.ts';
import { toRollupSums, toSum, toTokenEstimate } from './tool-call-figures.ts';

interface FileFigures {
  calls: number;
  reads: number;
  /** Edits and writes that did not fail. */
  edits: number;
  errors: number;
  sessions: number;
  output_bytes: number;
  estimated_tokens: number;
}

type FileSort = 'calls' | 'reads' | 'edits';

type FileKeys = { file_path: string; project: string | null };

const ORDERS = { calls: sql`calls DESC`, reads: sql`reads DESC`, edits: sql`edits DESC` };

const CALLS = {
  source: toReportSource('r', { time: 'bucket_start', own: ['model'] }),
  table: fromRollup('file', 'r'),
  keys: { file_path: sql`r.file_path`, project: sql`s.project` },
  groupedColumns: [],
  columns: toRollupSums(['calls', 'reads', 'edits', 'errors', 'output_bytes']),
} satisfies GroupPart;

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
    countsSessions: 'in total',
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
  // There are as many pairs of file and session as rows: only those of the page's files are looked up.
  const paths = sql`${sql.param(rows.map(({ file_path }) => file_path))}::text[]`;
  const onPage = truncated ? restrict(CALLS, sql`r.file_path = ANY(${paths})`) : CALLS;
  const sessions = await readSessionCounts(database, filter, onPage);
  return {
    rows: rows.map((row) => ({ ...row, sessions: sessions.get(JSON.stringify([row.file_path, row.project])) ?? 0 })),
    totals: { files: groupCount, ...totals },
    truncated,
  };
}
