import {
  REPORT_NAMES,
  REPORTS,
  type ReportCommand,
  type ReportEntry,
  type ReportName,
} from '@recount/contract/reports';

export interface ReportKind extends ReportCommand {
  /** Below /v1/analytics. */
  route: ReportName;
  /** `keys` are its possible groups; in a report by time, in addition to the time. */
  groupBy?: { keys: readonly string[]; fallback: string };
}

/** All reports of `recount report`. */
export const REPORT_KINDS: readonly ReportKind[] = REPORT_NAMES.flatMap((route) => {
  const { commands, groupBy }: ReportEntry = REPORTS[route];
  return commands.map((command) => {
    if (groupBy === undefined) return { ...command, route };
    const keys = groupBy.keys.filter((key) => !command.isByTime || key !== command.by);
    return { ...command, route, groupBy: { keys, fallback: command.by ?? groupBy.fallback.join(',') } };
  });
});
