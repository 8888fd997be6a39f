/** `amount`: money that may not apply, so a missing one is a dash rather than a missing price. */
export type ValueFormat =
  | 'text'
  | 'path'
  | 'count'
  | 'cost'
  | 'amount'
  | 'ratio'
  | 'duration'
  | 'bytes'
  | 'time'
  | 'bar';

export interface ReportColumn {
  header: string;
  /** Path of the value in a row and in the totals, e.g. `own.tokens_in`. */
  path: string;
  format: ValueFormat;
  /** Not shown in the line of totals. */
  isOfRowsOnly?: boolean;
  /** Order of leaving columns out on a narrow terminal, lowest first. */
  rank?: number;
  /** For texts: they are not cut to less. Default 12. */
  minWidth?: number;
}

export const text = (header: string, path: string, rank?: number): ReportColumn => ({
  header,
  path,
  format: 'text',
  isOfRowsOnly: true,
  ...(rank !== undefined && { rank }),
});
export const count = (header: string, path: string, rank?: number): ReportColumn => ({
  header,
  path,
  format: 'count',
  ...(rank !== undefined && { rank }),
});
export const cost = (path: string, header = 'COST'): ReportColumn => ({ header, path, format: 'cost' });
export const ratio = (header: string, path: string, rank?: number): ReportColumn => ({
  ...count(header, path, rank),
  format: 'ratio',
});
export const duration = (header: string, path: string, rank?: number): ReportColumn => ({
  ...count(header, path, rank),
  format: 'duration',
});
const bytes = (header: string, path: string, rank?: number): ReportColumn => ({
  ...count(header, path, rank),
  format: 'bytes',
});
export const time = (header: string, path: string, rank?: number): ReportColumn => ({
  ...text(header, path, rank),
  format: 'time',
});
const bar = (path: string): ReportColumn => ({
  header: 'SHARE',
  path,
  format: 'bar',
  isOfRowsOnly: true,
  rank: 1,
});

/** `own.` if a row separates own and shared usage. */
export const usageColumns = (prefix = ''): ReportColumn[] => [
  count('RESPONSES', `${prefix}responses`, 3),
  count('INPUT', `${prefix}tokens_in`, 6),
  count('OUTPUT', `${prefix}tokens_out`, 8),
  count('CACHE READ', `${prefix}cache_read`, 5),
  count('CACHE WRITE', `${prefix}cache_write`, 4),
  ratio('CACHED', `${prefix}cache_hit_ratio`, 2),
  count('TOKENS', `${prefix}total_tokens`, 9),
  cost(`${prefix}cost_usd`),
  bar(`${prefix}cost_usd`),
];

export const callColumns = [
  count('CALLS', 'calls'),
  count('ERRORS', 'errors', 8),
  ratio('ERROR RATE', 'error_rate', 7),
  count('DENIED', 'denied', 6),
];
export const durationColumns = [duration('MEDIAN', 'duration_p50_ms', 5), duration('P95', 'duration_p95_ms', 4)];
export const outputColumns = [bytes('OUTPUT', 'output_bytes', 3), count('≈ TOKENS', 'estimated_tokens', 2)];
