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

function toMoneyFormat(decimals: number): Intl.NumberFormat {
  const key = `${currency} ${decimals}`;
  const known = moneyFormats.get(key);
  if (known !== undefined) return known;
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const isCode = /^[A-Z]{3}$/.test(currency);
  const style = isCode ? { style: 'currency' as const, currency, currencyDisplay: 'narrowSymbol' as const } : {};
  const format = new Intl.NumberFormat(undefined, { ...style, ...digits });
  moneyFormats.set(key, format);
  return format;
}

/** Two decimals; four below one, as most responses cost less than a cent. */
export function formatMoney(value: number | null): string {
  if (value === null) return 'unpriced';
  const decimals = value !== 0 && Math.abs(value) < 1 ? 4 : 2;
  const text = toMoneyFormat(decimals).format(value);
  return /^[A-Z]{3}$/.test(currency) ? text : `${text} ${currency}`;
}

export const formatCount = (value: number | null): string => (value === null ? '–' : whole.format(value));

/** `1 error`, `2 errors`. */
export const formatCounted = (value: number, noun: string): string =>
  `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`;

/** 12.3K, 4.5M. */
export const formatCompact = (value: number | null): string => (value === null ? '–' : compact.format(value));

export const formatPercent = (value: number | null): string => (value === null ? '–' : percent.format(value));

/** Growth above this factor is stated as a factor, because a percentage of many digits says nothing. */
const MAX_PERCENT_FACTOR = 10;

/**
 * `+12.5% on`, `−3.0% on` or `270 times`, the figure compared with the earlier one. Undefined if there is nothing to
 * compare with.
 */
export function formatChange(now: number | null, before: number | null | undefined): string | undefined {
  if (now === null || before === null || before === undefined || before <= 0) return undefined;
  const factor = now / before;
  if (factor >= 1000) return 'over 1,000 times';
  if (factor >= MAX_PERCENT_FACTOR) return `${Math.floor(factor)} times`;
  return `${factor >= 1 ? '+' : '−'}${formatPercent(Math.abs(factor - 1))} on`;
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
