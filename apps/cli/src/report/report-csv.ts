import { createCsvRows } from '@recount/db/export';
import type { ReportRow } from './report-answer.ts';

/** Rows as CSV: nested figures become columns such as `own_tokens_in`, lists are joined by semicolons. */
export function toReportCsv(rows: readonly ReportRow[]): string {
  if (rows.length === 0) return '';
  const flat = rows.map((row) => flatten(row));
  const names = [...new Set(flat.flatMap((row) => [...row.keys()]))];
  return createCsvRows(
    names,
    flat.map((row) => names.map((name) => row.get(name))),
  );
}

function flatten(row: ReportRow, prefix = '', into = new Map<string, unknown>()): Map<string, unknown> {
  for (const [name, value] of Object.entries(row)) {
    if (Array.isArray(value)) into.set(prefix + name, value.join('; '));
    else if (typeof value === 'object' && value !== null) flatten(value as ReportRow, `${prefix}${name}_`, into);
    else into.set(prefix + name, value);
  }
  return into;
}
