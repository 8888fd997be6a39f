import { TIME_ZONE } from './values.ts';

/** Periods of reports, by their names in the URL. */
export const PERIODS = [
  ['today', 'Today', 1],
  ['7d', '7 days', 7],
  ['30d', '30 days', 30],
  ['90d', '90 days', 90],
  ['365d', '12 months', 365],
  ['all', 'All time', undefined],
] as const;

/** The period of a page whose URL names none. */
export const DEFAULT_PERIOD = '30d';

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

/** Calendar days later. */
export function addDays(date: string, days: number): string {
  const at = new Date(`${date}T00:00:00Z`);
  at.setUTCDate(at.getUTCDate() + days);
  return at.toISOString().slice(0, 10);
}

const toDays = ({ from, to }: { from: string; to: string }): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);

/** Users edit URLs by hand: `2026-02-31` is not a date. */
const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  new Date(text).toISOString().slice(0, 10) === text;

/** The dates of a URL as it says them; undefined without any. */
export const toDatesLabel = ({ from, to }: Readonly<Record<string, string>>): string | undefined =>
  from === undefined && to === undefined ? undefined : `${from ?? '…'} to ${to ?? 'now'}`;

/** The time of a URL's `period`, or else `from` and `to`. In a URL, `to` is the last day. */
export function readPeriod(search: Readonly<Record<string, string>>, fallback: string): Period {
  const { from, to } = search;
  if (from !== undefined || to !== undefined) {
    return {
      ...(from !== undefined && isDate(from) && { from }),
      ...(to !== undefined && isDate(to) && { to: addDays(to, 1) }),
    };
  }
  const name = search.period ?? fallback;
  const days = PERIODS.find(([id]) => id === name)?.[2];
  if (days === undefined) return {};
  const end = addDays(toToday(), 1);
  return { from: addDays(end, -days), to: end };
}

/** The parameters of a URL that say its time. */
const TIME_NAMES = ['period', 'from', 'to'] as const;

/** Parameters of a URL without a time, where the current one must not be kept. */
export const NO_TIME: Readonly<Record<string, undefined>> = Object.fromEntries(
  TIME_NAMES.map((name) => [name, undefined]),
);

/** Parameters of the next URL: with the time of the current one, unless they say a time themselves, or NO_TIME. */
export function keepTime(
  current: Readonly<Record<string, unknown>>,
  next: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  if (TIME_NAMES.some((name) => name in next)) return { ...next };
  const time = TIME_NAMES.flatMap((name) => (current[name] === undefined ? [] : [[name, current[name]]]));
  return { ...Object.fromEntries(time), ...next };
}

/** The same time as parameters of another page's URL. */
export function toTimeSearch(search: Readonly<Record<string, string>>, fallback: string): Record<string, string> {
  const { from, to, period = fallback } = search;
  if (from === undefined && to === undefined) return { period };
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

/** The same number of days, right before; undefined if the period has no beginning or end. */
export function toPeriodBefore({ from, to }: Period): Required<Period> | undefined {
  if (from === undefined || to === undefined) return undefined;
  return { from: addDays(from, -toDays({ from, to })), to: from };
}
