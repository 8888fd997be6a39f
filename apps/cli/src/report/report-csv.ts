import { createCsvRows } from '@recount/db/export';
import type { ReportRow } from './report-answer.ts';

/** Rows as CSV: nested figures become columns such as `own_tokens_in`, lists are joined by semicolons. */
export function toReportCsv(rows: readonly ReportRow[]): string {
  if (rows.length === 0) return '';
  const flat = rows.map((row) => flatten(row));
  const all = [...new Set(flat.flatMap((row) => [...row.keys()]))];
  // Nested figures that are null in one row have columns from the others.
  const names = all.filter((name) => flat.some((row) => row.get(name) != null) || !isNested(name, all));
  return createCsvRows(
    names,
    flat.map((row) => names.map((name) => row.get(name))),
  );
}

const isNested = (name: string, all: readonly string[]): boolean => all.some((other) => other.startsWith(`${name}_`));

function flatten(row: ReportRow, prefix = '', into = new Map<string, unknown>()): Map<string, unknown> {
  for (const [name, value] of Object.entries(row)) {
    if (Array.isArray(value)) into.set(prefix + name, value.join('; '));
    else if (typeof value === 'object' && value !== null) flatten(value as ReportRow, `${prefix}${name}_`, into);
    else into.set(prefix + name, value);
  }
  return into;
}
