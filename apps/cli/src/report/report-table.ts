import { type ReportColumn, readPath } from '@recount/contract/reports';
import { formatTable, type TableColumn } from '../terminal/table.ts';
import { toTextWidth } from '../terminal/text-width.ts';
import { type CellLayout, formatCell, isMoney, isRightAligned, toCostDecimals } from './format-cell.ts';
import type { ReportAnswer, ReportRow } from './report-answer.ts';
import type { ReportKind } from './report-kinds.ts';

/** A line for the terminal, with its style. */
export interface StyledLine {
  text: string;
  style?: 'bold' | 'dim';
}

const MIN_TEXT_WIDTH = 12;
/** Width of `claude-sonnet-4-5-20250929`. Names of models differ at the end. */
const MODEL_WIDTH = 26;
const GROUP_HEADERS: Readonly<Record<string, string>> = {
  git_branch: 'BRANCH',
  agent_version: 'VERSION',
  kind_of_work: 'KIND OF WORK',
};
const TIMES = new Set(['hour', 'day', 'week', 'month']);
const SUB_ROW_INDENT = '└ ';

/**
 * The table of a report, with headers, rows and totals between rules. With `details`, the same report split by model,
 * each row is followed by its models.
 */
export function formatReportTable(
  kind: ReportKind,
  answer: ReportAnswer,
  { maxWidth, details }: { maxWidth: number; details?: ReportAnswer | undefined },
): StyledLine[] {
  const shown = answer.rows.filter(isWorthShowing);
  if (shown.length === 0) return [{ text: 'Nothing to report.', style: 'dim' }];
  const groups = answer.filters.group_by.map(toGroupColumn);
  const columns = [...groups, ...kind.columns].filter(
    ({ path, isOfRowsOnly }) => !isOfRowsOnly || hasValue(answer, path),
  );
  const format = createCellFormatter(columns, answer);
  const rows = shown.flatMap((row): { cells: string[]; style?: 'dim' }[] => [
    { cells: columns.map((column) => format(row, column)) },
    ...findDetails(row, answer, details).map((detail) => ({
      cells: columns.map((column, index) =>
        index === 0 ? `${SUB_ROW_INDENT}${format(detail, MODEL_COLUMN)}` : format(detail, column),
      ),
      style: 'dim' as const,
    })),
  ]);
  // If there is nothing to split by, the only row is its own total.
  const isSplit = columns.some(({ isOfRowsOnly, format: cellFormat }) => isOfRowsOnly && cellFormat !== 'bar');
  const totals = columns.map((column, index) => {
    if (index === 0) return 'Total';
    return column.isOfRowsOnly ? '' : format(answer.totals, column);
  });
  const lines = formatTable(
    columns.map((column, index) => toTableColumn(column, index, details !== undefined)),
    [...rows.map(({ cells }) => cells), ...(isSplit ? [totals] : [])],
    maxWidth,
  );
  const [header = '', ...body] = lines;
  const rule: StyledLine = { text: '─'.repeat(Math.max(...lines.map((line) => toTextWidth(line)))), style: 'dim' };
  return [
    { text: header, style: 'bold' },
    rule,
    ...rows.map(({ style }, index) => ({ text: body[index] ?? '', ...(style && { style }) })),
    ...(isSplit ? [rule, { text: body.at(-1) ?? '', style: 'bold' as const }] : []),
  ];
}

/** A day may have messages without any API response. Such a row is useless in a table of tokens and cost. */
const isWorthShowing = (row: ReportRow): boolean =>
  readPath(row, 'own.responses') !== 0 || readPath(row, 'shared.responses') !== 0;

const MODEL_COLUMN: ReportColumn = { header: 'MODEL', path: 'model', format: 'text' };

function toGroupColumn(key: string): ReportColumn {
  const minWidth = TIMES.has(key) ? Number.POSITIVE_INFINITY : key === 'model' ? MODEL_WIDTH : MIN_TEXT_WIDTH;
  return { header: GROUP_HEADERS[key] ?? key.toUpperCase(), path: key, format: 'text', isOfRowsOnly: true, minWidth };
}

/** Group columns always stay. A column of dashes shows missing data. */
const hasValue = ({ rows, filters }: ReportAnswer, path: string): boolean =>
  filters.group_by.some((key) => key === path) || rows.some((row) => readPath(row, path) != null);

function toTableColumn(column: ReportColumn, index: number, hasDetails: boolean): TableColumn {
  const { header, format, rank } = column;
  const ownMinWidth = column.minWidth ?? MIN_TEXT_WIDTH;
  // The models of a day are shown in its column.
  const minWidth = hasDetails && index === 0 ? Math.min(ownMinWidth, MODEL_WIDTH) : ownMinWidth;
  return {
    header,
    align: isRightAligned(format) ? 'right' : 'left',
    ...((format === 'text' || format === 'path') && { minWidth: Math.max(minWidth, toTextWidth(header)) }),
    ...(format === 'path' && { keeps: 'end' as const }),
    ...(rank !== undefined && index > 0 && { isOptional: true, rank }),
  };
}

function createCellFormatter(
  columns: readonly ReportColumn[],
  { rows, totals, currency_label, filters }: ReportAnswer,
) {
  const toLargest = (paths: readonly string[], of: readonly ReportRow[]): number =>
    of.reduce((most, row) => Math.max(most, ...paths.map((path) => Math.abs(Number(readPath(row, path) ?? 0)))), 0);
  const costPaths = columns.filter(({ format }) => isMoney(format)).map(({ path }) => path);
  const costDecimals = toCostDecimals(toLargest(costPaths, [...rows, totals]));
  const layouts = new Map<ReportColumn, CellLayout>();
  const projectNames = toShortPaths(rows.map((row) => row.project).filter((each) => typeof each === 'string'));
  const common = { currencyLabel: currency_label, timeZone: filters.time_zone, costDecimals };
  return (row: ReportRow, column: ReportColumn): string => {
    const { path, format } = column;
    let layout = layouts.get(column);
    if (layout === undefined) {
      layout = { ...common, largest: format === 'bar' ? toLargest([path], rows) : 0 };
      layouts.set(column, layout);
    }
    const value = readPath(row, path);
    if (path === 'file_path') return formatCell(toRelativePath(value, row.project), format, layout);
    if (path === 'project' && typeof value === 'string') return formatCell(projectNames.get(value), format, layout);
    if (TIMES.has(path) && value === null) return 'no time';
    if (path === 'day' && typeof value === 'string') return `${toWeekday(value)} ${value}`;
    if (path === 'hour' && typeof value === 'string') return value.slice(0, 16).replace('T', ' ');
    return formatCell(value, format, layout);
  };
}

/** Paths shortened to as many trailing folders as distinguish them; filters accept these, too. */
function toShortPaths(paths: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const path of new Set(paths)) {
    const parts = path.split('/').filter((part) => part !== '');
    let end = parts.at(-1) ?? path;
    for (
      let count = 2;
      count <= parts.length && paths.some((other) => other !== path && isEndOf(end, other));
      count++
    ) {
      end = parts.slice(-count).join('/');
    }
    names.set(path, end);
  }
  return names;
}

const isEndOf = (end: string, path: string): boolean => path === end || path.endsWith(`/${end}`);

function toRelativePath(path: unknown, project: unknown): unknown {
  const isInside = typeof path === 'string' && typeof project === 'string' && path.startsWith(`${project}/`);
  return isInside ? path.slice(project.length + 1) : path;
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

const toWeekday = (date: string): string => WEEKDAYS[new Date(`${date}T00:00:00Z`).getUTCDay()] ?? '';

/** The models in a row's figures. */
function findDetails(row: ReportRow, { filters }: ReportAnswer, details: ReportAnswer | undefined): ReportRow[] {
  if (details === undefined) return [];
  return details.rows.filter((detail) => filters.group_by.every((key) => detail[key] === row[key]));
}
