/** Calendar days later. */
export function addDays(date: string, days: number): string {
  const at = new Date(`${date}T00:00:00Z`);
  at.setUTCDate(at.getUTCDate() + days);
  return at.toISOString().slice(0, 10);
}

/** The first day of the month that is some months later than a date's. */
export function toMonthStart(date: string, months = 0): string {
  const [year = 0, month = 1] = date.split('-').map(Number);
  return new Date(Date.UTC(year, month - 1 + months, 1)).toISOString().slice(0, 10);
}

/** The Monday of a date's week. */
export const toMonday = (date: string): string => addDays(date, -((new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7));

export const countDays = ({ from, to }: { from: string; to: string }): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);

/** A period of a number of days that ends today, with the same number of days before. */
const toLastDays = (days: number) => (today: string) =>
  [addDays(today, 1 - days), addDays(today, 1 - 2 * days)] as const;

export const PERIOD_IDS = [
  ...['today', 'this-week', 'last-week', 'this-month', 'last-month'],
  ...['7d', '30d', '90d', '365d', 'all'],
] as const;

export interface NamedPeriod {
  id: string;
  label: string;
  /** Its first day, the first day of the period before, and the day after its last one if that is not today. */
  begin?: (today: string) => readonly [from: string, fromBefore: string, to?: string];
  /** The period before, as the object of "vs". */
  before?: string;
}

/** Periods of reports by their names. Weeks begin on Monday; `today` decides the time zone. */
export const PERIODS: readonly NamedPeriod[] = [
  { id: 'today', label: 'Today', begin: toLastDays(1), before: 'yesterday' },
  {
    id: 'this-week',
    label: 'This week',
    begin: (today) => [toMonday(today), addDays(toMonday(today), -7)],
    before: 'the same days of last week',
  },
  {
    id: 'last-week',
    label: 'Last week',
    begin: (today) => [addDays(toMonday(today), -7), addDays(toMonday(today), -14), toMonday(today)],
    before: 'the week before',
  },
  {
    id: 'this-month',
    label: 'This month',
    begin: (today) => [toMonthStart(today), toMonthStart(today, -1)],
    before: 'the same days of last month',
  },
  {
    id: 'last-month',
    label: 'Last month',
    begin: (today) => [toMonthStart(today, -1), toMonthStart(today, -2), toMonthStart(today)],
    before: 'the month before',
  },
  { id: '7d', label: '7 days', begin: toLastDays(7), before: 'previous 7 days' },
  { id: '30d', label: '30 days', begin: toLastDays(30), before: 'previous 30 days' },
  { id: '90d', label: '90 days', begin: toLastDays(90), before: 'previous 90 days' },
  { id: '365d', label: '12 months', begin: toLastDays(365), before: 'previous 12 months' },
  { id: 'all', label: 'All time' },
];

/** The days of a period, `to` excluded; nothing for all time and for a period without a name. */
export function readNamedPeriod(
  period: NamedPeriod | undefined,
  today: string,
): { from?: string | undefined; to?: string | undefined } {
  const [from, , to = addDays(today, 1)] = period?.begin?.(today) ?? [];
  return from === undefined ? {} : { from, to };
}
