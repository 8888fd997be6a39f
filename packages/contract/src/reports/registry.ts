import { FINDING_REPORTS } from './finding-reports.ts';
import { SESSION_REPORTS } from './session-reports.ts';
import { SPEND_REPORTS } from './spend-reports.ts';
import { TOOL_REPORTS } from './tool-reports.ts';
import { USAGE_REPORTS } from './usage-reports.ts';
import { WITNESS_REPORTS } from './witness-reports.ts';

/** All reports, by the last part of their path below `/v1/analytics`. Importing this loads no schemas. */
export const REPORTS = {
  ...USAGE_REPORTS,
  ...TOOL_REPORTS,
  ...SESSION_REPORTS,
  ...FINDING_REPORTS,
  ...SPEND_REPORTS,
  ...WITNESS_REPORTS,
};

export type ReportName = keyof typeof REPORTS;

export const REPORT_NAMES = Object.keys(REPORTS) as ReportName[];
