import { REPORT_PAGES } from '@recount/contract/reports/report-pages';
import { SUBJECTS } from '../../format/dimensions.ts';
import { type Row, readText } from '../../ui/report-figure.tsx';

/** A report on a page. */
export type Breakdown = (typeof REPORT_PAGES)[number];

/** The breakdowns of a page. The first one is the default. */
export const listBreakdowns = (page: string): Breakdown[] => REPORT_PAGES.filter((each) => each.page === page);

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

/** The subject of a breakdown's rows, if each has its own page. */
export const findSubject = ({ name, filters }: Breakdown) =>
  Object.keys(filters).length === 1 ? SUBJECTS.find((subject) => subject.name === name) : undefined;
