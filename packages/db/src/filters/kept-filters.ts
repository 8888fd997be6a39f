import type { Database } from '../database/database.ts';
import { type ReportRequest, resolveReportFilter } from './report-filter.ts';

const toCamelCase = (name: string): string => name.replace(/_(\w)/g, (_, next: string) => next.toUpperCase());

/** Resolves filters that are kept as people typed them, so that they mean what they mean in a report. */
export function resolveKeptFilters(
  database: Database,
  { workspace_id, time_zone, filters }: { workspace_id: string; time_zone: string; filters: Record<string, unknown> },
): ReturnType<typeof resolveReportFilter> {
  const named = Object.fromEntries(Object.entries(filters).map(([name, value]) => [toCamelCase(name), value]));
  const request: ReportRequest = { subagents: 'include', ...named, timeZone: time_zone };
  return resolveReportFilter(database, workspace_id, request);
}
