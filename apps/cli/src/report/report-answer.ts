import type { DataRange, ReportCaveats, ReportFilters, SessionsReport } from '@recount/contract';

export type ReportRow = Readonly<Record<string, unknown>>;

/** What the answers of all reports share. */
export interface ReportAnswer {
  filters: ReportFilters;
  currency_label: string;
  caveats: ReportCaveats;
  rows: ReportRow[];
  totals: ReportRow;
  truncated: boolean;
  /** Absent from servers before 0.4. */
  data_range?: DataRange | null;
  /** What the sessions used: only in the sessions report. */
  usage?: SessionsReport['usage'] | undefined;
}
