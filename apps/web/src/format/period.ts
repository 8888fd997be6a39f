import { addDays, countDays, type NamedPeriod, PERIODS, readNamedPeriod } from '@recount/contract/periods';
import { TIME_ZONE } from './values.ts';

export interface Period {
  /** Dates in the viewer's time zone; `to` is the day after the last one. Undefined means unbounded. */
  from?: string | undefined;
  to?: string | undefined;
}

const dayFormat = new Intl.DateTimeFormat('en-CA', {
  timeZone: TIME_ZONE,
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
});

/** Today's date in the viewer's time zone. */
export const toToday = (now = new Date()): string => dayFormat.format(now);

/** The period of a page whose URL names none. */
export const DEFAULT_PERIOD = '30d';

/** Users edit URLs by hand: `2026-02-31` is not a date. */
const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  new Date(text).toISOString().slice(0, 10) === text;

type Search = Readonly<Record<string, string>>;

/** The dates of a URL as it says them; undefined without any. */
export const toDatesLabel = ({ from, to }: Search): string | undefined =>
  from === undefined && to === undefined ? undefined : `${from ?? '…'} to ${to ?? 'now'}`;

/** The time of a URL's `period`, or else `from` and `to`. In a URL, `to` is the last day. */
export function readPeriod(search: Search, fallback: string, today = toToday()): Period {
  const { from, to } = search;
  if (from !== undefined || to !== undefined) {
    return {
      ...(from !== undefined && isDate(from) && { from }),
      ...(to !== undefined && isDate(to) && { to: addDays(to, 1) }),
    };
  }
  return readNamedPeriod(findPeriod(search, fallback), today);
}

const findPeriod = ({ period }: Search, fallback: string): NamedPeriod | undefined =>
  PERIODS.find(({ id }) => id === (period ?? fallback));

/**
 * The period to compare with, and its name: as many days of the week or month before, else the same number of days right
 * before. Undefined if the period has no beginning or end.
 */
export function readPeriodBefore(
  search: Search,
  fallback: string,
  today = toToday(),
): { period: Required<Period>; label: string } | undefined {
  const { from, to } = readPeriod(search, fallback, today);
  if (from === undefined || to === undefined) return undefined;
  const days = countDays({ from, to });
  const named = toDatesLabel(search) === undefined ? findPeriod(search, fallback) : undefined;
  const start = named?.begin?.(today)[1] ?? addDays(from, -days);
  // A month before may be shorter, or wholly past.
  const isWhole = named?.id === 'last-month';
  const end = isWhole || addDays(start, days) > from ? from : addDays(start, days);
  return {
    period: { from: start, to: end },
    label: named?.before ?? (days === 1 ? 'the day before' : `previous ${days} days`),
  };
}

/** The same time as parameters of another page's URL. */
export function toTimeSearch(search: Search, fallback: string): Record<string, string> {
  const { from, to, period = fallback } = search;
  if (from === undefined && to === undefined) return { period };
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}
