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
  /** The possible groups of its rows, and the default ones. */
  groupBy?: { keys: readonly GroupKey[]; fallback: readonly GroupKey[] };
  /** True if its filters are about the parents of sub-agents, so that no filter of sub-agents applies. */
  isOfParents?: true;
  /** True if its rows are texts, such as paths of files. A reader who may see texts of one person gets that person's rows. */
  isOfTexts?: true;
  /** A function, so that only those who validate load the schemas. */
  shapes(fields: Fields): ReportShapes;
  commands: readonly ReportCommand[];
  /** Tables of the dashboard. */
  pages?: readonly ReportPage[];
}

interface ReportShapes {
  /** Parameters besides those that every report has. */
  query?: z.ZodRawShape;
  row: z.ZodRawShape;
  totals: z.ZodRawShape;
  /** The content of the answer besides rows and totals. */
  rest?: z.ZodRawShape;
}

/** `recount report NAME`. */
export interface ReportCommand {
  name: string;
  /** Another name for it. */
  alias?: string;
  help: string;
  title: string;
  /** Columns after the groups' columns. */
  columns: readonly ReportColumn[];
  /** The groups without `--by`, if they differ from the route's. */
  by?: GroupKey;
  /** True if it is always grouped by `by`, and `--by` adds groups. */
  isByTime?: true;
  /** True if rows may be split by model. */
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
  /** The subject of a row, as the heading of the first column. */
  noun: string;
  query?: Readonly<Record<string, string>>;
  /** Field of the row's name. */
  name: string;
  /** The way to shorten a long name. */
  shortens?: 'path' | 'model';
  /** Field whose text follows the name. */
  detail?: string;
  /** Its first amount is not our estimate, so that nothing is said about the estimate's caveats. */
  isForeign?: true;
  /** The way to get rows, in a sentence, if transcripts alone give none. */
  source?: string;
  /** Marks rows with responses without a price. */
  marksUnpriced?: true;
  /** Filters of the sessions page that find the sessions of a row, with their fields in the row. */
  filters: Readonly<Record<string, string>>;
  figures: readonly PageFigure[];
  /** A figure by days; left out if the report cannot be requested so. */
  trend?: { query: Readonly<Record<string, string>>; figure: PageFigure };
}

export interface PageFigure {
  label: string;
  /** An explanation of the count, if the label is not enough. */
  hint?: string;
  /** Without a value, `money` has no price, and an `amount`, which is someone else's or a difference, does not exist. */
  kind: 'money' | 'amount' | 'tokens' | 'count' | 'percent' | 'duration' | 'bytes';
  /** Path of the value in a row and in the totals. */
  path: string;
  /** True if totals have none. */
  isOfRowsOnly?: true;
}

/** Keeps the entry's own type. */
export const defineReport = <Entry extends ReportEntry>(entry: Entry): Entry => entry;
