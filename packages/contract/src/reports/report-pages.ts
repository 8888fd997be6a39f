import { REPORT_NAMES, REPORTS } from './registry.ts';
import type { ReportEntry, ReportPage } from './report-entry.ts';

/** The tables of the dashboard with their routes. Building the dashboard replaces this module by its value. */
export const REPORT_PAGES = REPORT_NAMES.flatMap((name) => {
  const { pages = [] }: ReportEntry = REPORTS[name];
  return pages.map((page): ReportPage & { route: `/v1/analytics/${typeof name}` } => ({
    ...page,
    route: `/v1/analytics/${name}`,
  }));
});
