import type { PageFigure } from './report-entry.ts';

export const figure = (kind: PageFigure['kind'], label: string, path: string): PageFigure => ({ kind, label, path });

/** The definition of sessions in reports of usage, see docs/accuracy.md#counts-of-sessions. */
export const SESSIONS_OF_USAGE =
  'Sessions that contain an API response of this time. One with responses in several rows is in each row, and once in the total. The list of sessions also shows sessions that were active without a response.';

export const sessionsOfCalls: PageFigure = {
  ...figure('count', 'Sessions', 'sessions'),
  hint: 'Sessions that made such a call. A session with calls in several rows is in each row, and once in the total.',
};

/** In the order of every page, which begins with the figure that people look for. `own.` if a row separates own and shared usage. */
export const usageFigures = (prefix = ''): PageFigure[] => [
  { ...figure('money', 'Cost', `${prefix}cost_usd`), hint: 'An estimate at list prices, or your own' },
  { ...figure('count', 'Sessions', 'sessions'), hint: SESSIONS_OF_USAGE },
  figure('count', 'Responses', `${prefix}responses`),
  figure('tokens', 'Input', `${prefix}tokens_in`),
  figure('tokens', 'Output', `${prefix}tokens_out`),
  figure('tokens', 'Cache read', `${prefix}cache_read`),
  figure('tokens', 'Cache write', `${prefix}cache_write`),
  figure('percent', 'Cache hit rate', `${prefix}cache_hit_ratio`),
];

export const callFigures: readonly PageFigure[] = [
  figure('count', 'Calls', 'calls'),
  figure('count', 'Failed', 'errors'),
  figure('percent', 'Fail rate', 'error_rate'),
  figure('count', 'Denied', 'denied'),
  sessionsOfCalls,
];

export const durationFigures: readonly PageFigure[] = [
  figure('duration', 'Median', 'duration_p50_ms'),
  figure('duration', 'P95', 'duration_p95_ms'),
];

export const resultFigures: readonly PageFigure[] = [
  figure('bytes', 'Output', 'output_bytes'),
  figure('tokens', 'Tokens (est.)', 'estimated_tokens'),
];
