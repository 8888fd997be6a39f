import type { z } from 'zod';
import type { GroupKey } from '../choices.ts';
import type { ReportColumn } from './report-columns.ts';
import type * as ReportFields from './report-fields.ts';

/** Fields that the shapes of reports consist of. */
export type Fields = typeof ReportFields;

/** A report: everything that API, command line and dashboard know of it. Its statement is in `packages/db`. */
export interface ReportEntry {
  /** For the documentation of its route. */
  description: string;
  /** What its rows can be grouped by, and what they are grouped by if a request does not say. */
  groupBy?: { keys: readonly GroupKey[]; fallback: readonly GroupKey[] };
  /** Whether its filters are about the parents of sub-agents, so that no filter of sub-agents applies. */
  isOfParents?: true;
  /** A function, so that only those who validate load the schemas. */
  shapes(fields: Fields): ReportShapes;
  commands: readonly ReportCommand[];
  /** Tables of the dashboard. */
  pages?: readonly ReportPage[];
}

export interface ReportShapes {
  /** Parameters besides those that every report has. */
  query?: z.ZodRawShape;
  row: z.ZodRawShape;
  totals: z.ZodRawShape;
  /** What the answer contains besides rows and totals. */
  rest?: z.ZodRawShape;
}

/** `recount report NAME`. */
export interface ReportCommand {
  name: string;
  /** Another name for it. */
  alias?: string;
  help: string;
  title: string;
  /** Columns after those of the groups. */
  columns: readonly ReportColumn[];
  /** The groups without `--by`, if they are not those of the route. */
  by?: GroupKey;
  /** Whether it is always grouped by `by`, to which `--by` adds groups. */
  isByTime?: true;
  /** Whether rows may be split by model. */
  hasBreakdown?: true;
  options?: readonly ReportOption[];
}

/** An option of one report; its long name is the query parameter. */
export type ReportOption = { flags: string; help: string } & (
  | { choices: readonly string[] }
  | { range: readonly [number, number]; fallback: number }
  | { sets: { parameter: string; value: string } }
);

/** A table of the dashboard, whose rows link to their sessions. */
export interface ReportPage {
  /** The page that shows it. */
  page: string;
  /** Name in the URL. */
  id: string;
  label: string;
  /** What a row is about, as the heading of the first column. */
  noun: string;
  query?: Readonly<Record<string, string>>;
  /** Field of the row's name. */
  name: string;
  /** How a long name is shortened. */
  shortens?: 'path' | 'model';
  /** Field whose text follows the name. */
  detail?: string;
  /** Marks rows of which some responses have no price. */
  marksUnpriced?: true;
  /** Filters of the sessions page that find the sessions of a row, with their fields in the row. */
  filters: Readonly<Record<string, string>>;
  figures: readonly PageFigure[];
  /** A figure by days; left out if the report cannot be requested so. */
  trend?: { query: Readonly<Record<string, string>>; figure: PageFigure };
}

export interface PageFigure {
  label: string;
  /** What is counted, if the label does not say all of it. */
  hint?: string;
  kind: 'money' | 'tokens' | 'count' | 'percent' | 'duration' | 'bytes';
  /** Path of the value in a row and in the totals. */
  path: string;
  /** Whether totals have none. */
  isOfRowsOnly?: true;
}

/** Keeps the entry's own type. */
export const defineReport = <Entry extends ReportEntry>(entry: Entry): Entry => entry;
