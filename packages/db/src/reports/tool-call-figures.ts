import { type SQL, sql } from '../drizzle.cjs';
import type { GroupPart } from './group-part.ts';
import { toReportSource } from './report-source.ts';
import { fromTotals } from './totals-source.ts';

const BYTES_PER_TOKEN = 4;

export interface CallFigures {
  calls: number;
  sessions: number;
  results: number;
  errors: number;
  /** Share of results that are errors; null without results. */
  error_rate: number | null;
  denied: number;
  output_bytes: number;
  /** Estimate of the context tokens that results took (a quarter of their bytes). */
  estimated_tokens: number;
}

export type CallSums = Record<'calls' | 'sessions' | 'results' | 'errors' | 'denied' | 'output_bytes', number>;

export const TOOL_CALL_SOURCE = toReportSource('c', { time: 'timestamp', own: ['model', 'tool_name', 'tool_kind'] });

const CALL_COLUMNS = ['calls', 'results', 'errors', 'denied', 'output_bytes'];

/** Sums of the roll-up's columns (alias `r`). */
export const toRollupSums = (names: readonly string[]): Record<string, SQL> =>
  Object.fromEntries(names.map((name) => [name, sql`recount.sum_bigint(r.${sql.identifier(name)})`]));

/** Calls that count. */
export const ROLLED_UP_CALLS = {
  source: toReportSource('r', { time: 'bucket_start', own: ['model', 'tool_name', 'tool_kind'] }),
  table: fromTotals('tool', 'r'),
  columns: toRollupSums(CALL_COLUMNS),
  groupedColumns: [],
} satisfies GroupPart;

export const toSum = (name: string): SQL => sql`coalesce(recount.sum_bigint(${sql.identifier(name)}), 0)::float8`;

export const CALL_SUMS: Record<Exclude<keyof CallSums, 'sessions'>, SQL> = {
  calls: toSum('calls'),
  results: toSum('results'),
  errors: toSum('errors'),
  denied: toSum('denied'),
  output_bytes: toSum('output_bytes'),
};

export const toRate = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

export const toTokenEstimate = (bytes: number): number => Math.round(bytes / BYTES_PER_TOKEN);

export function toCallFigures(sums: CallSums): CallFigures {
  const { calls, sessions, results, errors, denied, output_bytes } = sums;
  const error_rate = toRate(errors, results);
  return {
    calls,
    sessions,
    results,
    errors,
    error_rate,
    denied,
    output_bytes,
    estimated_tokens: toTokenEstimate(output_bytes),
  };
}
