import type { DataRange, ReportCaveats, ReportFilters, SessionsReport } from '@recount/contract';

export type ReportRow = Readonly<Record<string, unknown>>;

/** The common parts of all reports' answers. */
export interface ReportAnswer {
  filters: ReportFilters;
  currency_label: string;
  caveats: ReportCaveats;
  rows: ReportRow[];
  totals: ReportRow;
  truncated: boolean;
  /** Absent from servers before 0.4. */
  data_range?: DataRange | null;
  /** The usage of the sessions, only in the sessions report. */
  usage?: SessionsReport['usage'] | undefined;
}
