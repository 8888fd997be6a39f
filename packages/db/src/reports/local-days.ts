import type { LocalClock } from '@recount/core';
import type { ReportFilter } from '../filters/report-filter.ts';

/** Days of a time zone, as `2026-03-01`. */

export const DAY_MS = 24 * 60 * 60_000;

export const toIso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const toDate = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export const toLocalDay = (ms: number, clock: LocalClock): string => toDate(clock.toLocalMs(ms));

export const addDays = (day: string, days: number): string => toDate(Date.parse(day) + days * DAY_MS);

export const countDays = (from: string, to: string): number => Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);

/** The first day of the month that is some months later than a day's. */
export function toMonthStart(day: string, months = 0): string {
  const [year = 0, month = 1] = day.split('-').map(Number);
  return toDate(Date.UTC(year, month - 1 + months));
}

/** Keys of reports that group by days of a time zone. */
export type DayKey = 'day' | 'week' | 'month';
export const isDayKey = (key: string): key is DayKey => key === 'day' || key === 'week' || key === 'month';

/** The values of these keys at a moment. */
export function toDayKeys(ms: number | null, clock: LocalClock): Record<DayKey, string | null> {
  const day = ms === null ? null : toLocalDay(ms, clock);
  return { day, week: day === null ? null : toMonday(day), month: day === null ? null : day.slice(0, 7) };
}

/** The Monday of a day's week. */
export const toMonday = (day: string): string => addDays(day, -((new Date(day).getUTCDay() + 6) % 7));

export const isWeekend = (day: string): boolean => [0, 6].includes(new Date(day).getUTCDay());

/** The part of a filter's time between two moments, milliseconds since 1970; empty if they do not overlap. */
export function narrowTime(filter: ReportFilter, fromMs: number, toMs: number): ReportFilter {
  const from = Math.max(fromMs, filter.from === null ? Number.NEGATIVE_INFINITY : Date.parse(filter.from));
  const to = Math.min(toMs, filter.to === null ? Number.POSITIVE_INFINITY : Date.parse(filter.to));
  return { ...filter, from: new Date(from).toISOString(), to: new Date(Math.max(from, to)).toISOString() };
}
