import { isDayOfMonth } from '@recount/core/timestamps';
import { UsageError } from '../terminal/cli-error.ts';

/** Dates such as `2026-03-01`, or moments in ISO 8601; `to` is exclusive. */
export interface TimeRange {
  from: string | undefined;
  to: string | undefined;
}

const DAY_MS = 86_400_000;
const QUARTER_HOUR_MS = 15 * 60_000;
const HOUR_MS = 3_600_000;
export const RANGE_EXAMPLES =
  'today, yesterday, last week, this month, 7d, 2026-07, 2026-07-14, 2026-07-01..2026-07-14';

/** The calendar range of `--from`, `--to` and `--in` in a time zone. Throws UsageError. */
export function toTimeRange(
  {
    from,
    to,
    in: during,
  }: { from?: string | undefined; to?: string | undefined; in?: string | readonly string[] | undefined },
  timeZone: string,
  nowMs: number,
): TimeRange {
  const read = (text: string): TimeRange =>
    toRange(text.trim().toLowerCase(), timeZone, nowMs) ?? { from: text, to: text };
  if (during !== undefined) {
    if (from !== undefined || to !== undefined)
      throw new UsageError('--in replaces --from and --to. Pass one or the other.');
    return toWholeRange([during].flat().join(' '), read);
  }
  const isOneDay = from !== undefined && from === to;
  return {
    from: from === undefined ? undefined : read(from).from,
    to: to === undefined ? undefined : isDate(to) && !isOneDay ? to : read(to).to,
  };
}

function toWholeRange(text: string, read: (text: string) => TimeRange): TimeRange {
  const [first = '', last] = text.split('..');
  const isKnown = (range: TimeRange): boolean => range.from !== range.to;
  const begin = read(first);
  const end = last === undefined ? begin : read(last);
  if (!isKnown(begin) || !isKnown(end))
    throw new UsageError(`--in ${text} is not a time. Examples: ${RANGE_EXAMPLES}.`);
  return { from: begin.from, to: end.to };
}

const isDate = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text);

/** Undefined if the API is left to parse, or reject, the text. */
function toRange(text: string, timeZone: string, nowMs: number): TimeRange | undefined {
  const [, amount, unit] = /^(\d{1,4})([hdw])$/.exec(text) ?? [];
  if (amount !== undefined && unit === 'h') {
    const beginMs = nowMs - Number(amount) * HOUR_MS;
    return { from: new Date(beginMs - (beginMs % QUARTER_HOUR_MS)).toISOString(), to: undefined };
  }
  const todayMs = toTodayMs(timeZone, nowMs);
  if (amount !== undefined) {
    return { from: toDate(todayMs - Number(amount) * (unit === 'w' ? 7 : 1) * DAY_MS), to: undefined };
  }
  if (text === 'today') return toDays(todayMs, 1);
  if (text === 'yesterday') return toDays(todayMs - DAY_MS, 1);
  const [, which, period] = /^(this|last)[ -](week|month|year)$/.exec(text) ?? [];
  if (period !== undefined) return toPeriod(period, which === 'last' ? -1 : 0, todayMs);
  const [, year, month, day] = /^(\d{4})(?:-(\d\d))?(?:-(\d\d))?$/.exec(text) ?? [];
  if (
    year === undefined ||
    Number(month ?? 1) > 12 ||
    !isDayOfMonth(Number(year), Number(month ?? 1), Number(day ?? 1))
  )
    return undefined;
  if (day !== undefined) return toDays(Date.parse(`${text}T00:00:00Z`), 1);
  return month === undefined ? toMonths(Number(year), 0, 12) : toMonths(Number(year), Number(month) - 1, 1);
}

function toTodayMs(timeZone: string, nowMs: number): number {
  try {
    const today = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' });
    return Date.parse(`${today.format(new Date(nowMs))}T00:00:00Z`);
  } catch {
    throw new UsageError(`${timeZone} is not a time zone, such as Europe/Berlin.`);
  }
}

function toPeriod(period: string, offset: number, todayMs: number): TimeRange {
  const today = new Date(todayMs);
  if (period === 'month') return toMonths(today.getUTCFullYear(), today.getUTCMonth() + offset, 1);
  if (period === 'year') return toMonths(today.getUTCFullYear() + offset, 0, 12);
  const mondayMs = todayMs - ((today.getUTCDay() + 6) % 7) * DAY_MS;
  return toDays(mondayMs + offset * 7 * DAY_MS, 7);
}

const toDate = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const toDays = (beginMs: number, count: number): TimeRange => ({
  from: toDate(beginMs),
  to: toDate(beginMs + count * DAY_MS),
});

/** `month` counts from 0, and may be in another year. */
const toMonths = (year: number, month: number, count: number): TimeRange => ({
  from: toDate(Date.UTC(year, month)),
  to: toDate(Date.UTC(year, month + count)),
});
