import { readPath } from '@recount/contract/reports/read-path';
import type { PageFigure } from '@recount/contract/reports/report-entry';
import { REPORT_PAGES } from '@recount/contract/reports/report-pages';

/** A report on a page. */
export type Breakdown = (typeof REPORT_PAGES)[number];

export type Row = Readonly<Record<string, unknown>>;

/** The breakdowns of a page. The first one is the default. */
export const listBreakdowns = (page: string): Breakdown[] => REPORT_PAGES.filter((each) => each.page === page);

/** Null if the row has no such figure. */
export const readFigure = (row: Row, { path }: PageFigure): number | null => {
  const value = readPath(row, path);
  return typeof value === 'number' ? value : null;
};

export const readText = (row: Row, field: string): string | null => {
  const value = row[field];
  return typeof value === 'string' ? value : null;
};

/** The text after the name of a row. */
export function readDetail({ detail, marksUnpriced }: Breakdown, row: Row): string | null {
  // If no response has a price, the cost says so.
  if (marksUnpriced) return row.is_priced === false && row.cost_usd !== null ? 'partly unpriced' : null;
  return detail === undefined ? null : readText(row, detail);
}

/** Filters of the sessions page that find the sessions of a row. */
export const toSessionFilters = ({ filters }: Breakdown, row: Row): [string, string | null][] => [
  ...Object.entries(filters).map(([name, field]): [string, string | null] => [name, readText(row, field)]),
  ['subagents', 'include'],
];
