import type { ReportBody, ReportTotals } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { hasTextsOf, type ReportFilter } from '../filters/report-filter.ts';
import { type GroupPart, restrict } from './group-part.ts';
import { type ReportPage, readGroups, readSessionCounts } from './report-groups.ts';
import { toReportSource } from './report-source.ts';
import { fromRollup } from './rollup-source.ts';
import { toRollupSums, toSum, toTokenEstimate } from './tool-call-figures.ts';

type FileFigures = Omit<ReportTotals<'files'>, 'files'>;

/** `projects` is the number of projects with the row's path. */
type Sums = Omit<FileFigures, 'estimated_tokens'> & { projects: number };

type FileSort = 'calls' | 'reads' | 'edits';

type FileKeys = { file_path: string; project: string | null };

const ORDERS = { calls: sql`calls DESC`, reads: sql`reads DESC`, edits: sql`edits DESC` };

const CALLS = {
  source: toReportSource('r', { time: 'bucket_start', own: ['model'] }),
  table: fromRollup('file', 'r'),
  keys: { file_path: sql`r.file_path`, project: sql`s.project` },
  groupedColumns: [],
  counted: 'files',
  columns: toRollupSums(['calls', 'reads', 'edits', 'errors', 'output_bytes']),
} satisfies GroupPart;

/** Paths are texts, and roll-ups have the calls of all versions. */
const toOwnCalls = (filter: ReportFilter) => ({
  ...CALLS,
  where: hasTextsOf(filter, sql`r.session_id`) ?? sql`true`,
});

/** Files that tools read and edited, by path and project. */
export async function readFilesReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'> & { sort: FileSort },
): Promise<ReportBody<'files'>> {
  const { rows, totals, truncated, groupCount } = await readGroups<
    Sums,
    FileFigures & Pick<Sums, 'projects'>,
    FileKeys
  >(database, filter, page, {
    parts: [toOwnCalls(filter)],
    countsSessions: 'in total',
    aggregates: {
      calls: toSum('calls'),
      reads: toSum('reads'),
      edits: toSum('edits'),
      errors: toSum('errors'),
      output_bytes: toSum('output_bytes'),
      projects: sql`count(*) OVER (PARTITION BY file_path)::float8`,
    },
    order: ORDERS[page.sort],
    toFigures: ({ calls, reads, edits, errors, sessions, output_bytes, projects }) => ({
      calls,
      reads,
      edits,
      errors,
      sessions,
      output_bytes,
      estimated_tokens: toTokenEstimate(output_bytes),
      projects,
    }),
  });
  const countSessions = await readSessionsOfFiles(database, filter, rows);
  const { projects: _, ...sums } = totals;
  return {
    rows: rows.map(({ projects: _, ...row }) => ({ ...row, sessions: countSessions(row) })),
    totals: { files: groupCount, ...sums },
    truncated,
  };
}

/**
 * Counts the sessions of a page's files; of all files, it would be nearly a group for each row. Where a path occurs in one
 * project only, the projects of sessions need not be looked up.
 */
async function readSessionsOfFiles(
  database: Database,
  filter: ReportFilter,
  page: readonly (FileKeys & Pick<Sums, 'projects'>)[],
): Promise<(file: FileKeys) => number> {
  const { file_path, ...others } = CALLS.keys;
  const read = async (rows: readonly FileKeys[], keys: Readonly<Record<string, SQL>>) => {
    const paths = sql`${sql.param(rows.map((row) => row.file_path))}::text[]`;
    const part = { ...restrict(toOwnCalls(filter), sql`r.file_path = ANY(${paths})`), keys };
    return rows.length === 0 ? new Map<string, number>() : await readSessionCounts(database, filter, part);
  };
  const inOne = await read(
    page.filter(({ projects }) => projects === 1),
    { file_path },
  );
  const inSeveral = await read(
    page.filter(({ projects }) => projects > 1),
    { file_path, ...others },
  );
  return ({ file_path: path, project }) =>
    inOne.get(JSON.stringify([path])) ?? inSeveral.get(JSON.stringify([path, project])) ?? 0;
}
