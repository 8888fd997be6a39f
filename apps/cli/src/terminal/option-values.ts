import { isDayOfMonth } from '@recount/core/timestamps';
import { InvalidArgumentError } from 'commander';

const UNIT_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

function toSpanMs(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  return amount === undefined || unit === undefined ? undefined : Number(amount) * (UNIT_MS[unit] ?? 0);
}

/** Milliseconds of a time span: `0m`, `90m`, `12h`, `7d`. */
export function parseTimeSpan(text: string): number {
  const spanMs = toSpanMs(text);
  if (spanMs === undefined) throw new InvalidArgumentError('Must be a time span such as 90m, 12h or 7d.');
  return spanMs;
}

/** Milliseconds since 1970 of a date, or of a time span from now, or null for `never`. */
export function parseExpiry(text: string, nowMs = Date.now()): number | null {
  if (text === 'never') return null;
  const spanMs = toSpanMs(text);
  const timestampMs = spanMs === undefined ? parseSince(text, nowMs) : nowMs + spanMs;
  if (timestampMs <= nowMs) throw new InvalidArgumentError('That is in the past.');
  return timestampMs;
}

/** Milliseconds since 1970 of a date, or of a time span ago: `2026-03-01`, `2026-03-01T12:00Z`, `7d`, `12h`. */
export function parseSince(text: string, nowMs = Date.now()): number {
  const spanMs = toSpanMs(text);
  if (spanMs !== undefined) return nowMs - spanMs;
  // A date alone means midnight in local time, not in UTC.
  const [, year, month, day, hour] = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}))?/.exec(text) ?? [];
  // `Date` would turn 30 February into 2 March, and hour 24 into the next day.
  const isMoment = isDayOfMonth(Number(year), Number(month), Number(day)) && hour !== '24';
  const timestampMs = isMoment ? Date.parse(text.length === 10 ? `${text}T00:00` : text) : Number.NaN;
  if (Number.isNaN(timestampMs))
    throw new InvalidArgumentError('Must be a date such as 2026-03-01, or a time span such as 7d or 12h.');
  return timestampMs;
}

/** A parser of whole numbers from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`Must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}
