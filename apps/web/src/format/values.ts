import { toVisible } from '@recount/contract/conversation';

/** Formats figures and times by the browser's language and time zone. */

export const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

const whole = new Intl.NumberFormat();
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });

let currency = 'USD';

/** Sets the workspace's name for its currency. */
export function setCurrency(label: string): void {
  currency = label;
}

const moneyFormats = new Map<string, Intl.NumberFormat>();

function toMoneyFormat(decimals: number, notation: 'standard' | 'compact' = 'standard'): Intl.NumberFormat {
  const key = `${currency} ${decimals} ${notation}`;
  const known = moneyFormats.get(key);
  if (known !== undefined) return known;
  const maximumFractionDigits = notation === 'compact' ? 1 : decimals;
  const digits = { notation, minimumFractionDigits: decimals, maximumFractionDigits };
  const isCode = /^[A-Z]{3}$/.test(currency);
  const style = isCode ? { style: 'currency' as const, currency, currencyDisplay: 'narrowSymbol' as const } : {};
  const format = new Intl.NumberFormat(undefined, { ...style, ...digits });
  moneyFormats.set(key, format);
  return format;
}

/** Two decimals; four below a cent, as single responses cost. */
export function formatMoney(value: number | null): string {
  if (value === null) return 'unpriced';
  const decimals = value !== 0 && Math.abs(value) < 0.01 ? 4 : 2;
  return withCurrency(toMoneyFormat(decimals).format(value));
}

const withCurrency = (text: string): string => (/^[A-Z]{3}$/.test(currency) ? text : `${text} ${currency}`);

/** A value of an axis, with the decimals that its `step` needs. */
export function formatMoneyTick(value: number, step: number): string {
  if (step >= 1000) return withCurrency(toMoneyFormat(0, 'compact').format(value));
  return withCurrency(toMoneyFormat(Number.isInteger(step) ? 0 : step >= 0.01 ? 2 : 4).format(value));
}

/** Incomplete output that would add less than this part of a cost is only said in the details of the cost. */
export const MIN_SHOWN_PART = 0.01;

export const formatCount = (value: number | null): string => (value === null ? '–' : whole.format(value));

/** `1 error`, `2 errors`. */
export const formatCounted = (value: number, noun: string): string =>
  `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`;

/** 12.3K, 4.5M. */
export const formatCompact = (value: number | null): string => (value === null ? '–' : compact.format(value));

export const formatPercent = (value: number | null): string => (value === null ? '–' : percent.format(value));

/** Growth above this factor is told by the earlier figure, because a percentage of many digits says nothing. */
const MAX_PERCENT_FACTOR = 10;
const wholePercent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 0 });

/**
 * `+98% vs previous 30 days`, `from $0.05`, `new`: the figure compared with the earlier one, whose period is `before`.
 * Undefined if there is nothing to compare with.
 */
export function formatChange(
  now: number | null,
  earlier: number | null | undefined,
  { format, before }: { format: (value: number) => string; before: string },
): string | undefined {
  if (now === null || earlier === null || earlier === undefined || (now === 0 && earlier === 0)) return undefined;
  if (earlier <= 0) return 'new';
  const factor = now / earlier;
  if (factor >= MAX_PERCENT_FACTOR) return `from ${format(earlier)}`;
  return `${factor >= 1 ? '+' : '−'}${wholePercent.format(Math.abs(factor - 1))} vs ${before}`;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** `850 ms`, `4.2 s`, `12 min`, `3 h 05`, `12 days`. */
export function formatDuration(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${whole.format(Math.round(ms / 100) / 10)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms >= 100 * HOUR_MS) return `${whole.format(Math.floor(ms / (24 * HOUR_MS)))} days`;
  const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS);
  return `${whole.format(Math.floor(ms / HOUR_MS))} h ${String(minutes).padStart(2, '0')}`;
}

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

export function formatBytes(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${whole.format(value < 10 && power > 0 ? Math.round(value * 10) / 10 : Math.round(value))} ${BYTE_UNITS[power]}`;
}

const thisYear = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});
const otherYear = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

const monthName = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** `November 2026`, of `2026-11`. */
export const formatMonth = (month: string): string => monthName.format(new Date(`${month}-01T00:00:00Z`));

export function formatTime(iso: string | null): string {
  if (iso === null) return '–';
  const date = new Date(iso);
  return (date.getFullYear() === new Date().getFullYear() ? thisYear : otherYear).format(date);
}

export const formatFullTime = (iso: string | null): string =>
  iso === null ? 'time unknown' : full.format(new Date(iso));
export const formatClock = (iso: string | null): string => (iso === null ? '' : clock.format(new Date(iso)));

/** The last two parts of a path, which people recognise it by. */
export function toShortPath(path: string | null): string {
  if (path === null) return '–';
  const parts = path.split(/[\\/]/).filter((part) => part !== '');
  return toVisible(parts.length <= 2 ? path : `…/${parts.slice(-2).join('/')}`);
}

/** Without the vendor's common prefix and the date: `claude-sonnet-4-5-20250929` is `sonnet-4-5`. */
export const toShortModel = (model: string | null): string =>
  model === null ? 'no model' : toVisible(model.replace(/^claude-/, '').replace(/-20\d{6}$/, ''));
