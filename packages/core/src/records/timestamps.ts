import type { JsonValue } from '../lines/json.ts';

const ISO_TIMESTAMP =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/i;
/** As `Date` and nearly every transcript write it; limited to days that every month has. */
const CANONICAL_TIMESTAMP =
  /^[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;
/** Postgres rejects timestamps with five-digit years. */
const MAX_TIMESTAMP_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** As Unix seconds, this is in 1973; smaller numbers are durations or counters. */
const LEAST_SECONDS = 1e8;
/** As seconds this is in the year 5138, as milliseconds in 1973: no session is from either. */
const LEAST_MILLISECONDS = 1e11;
const UNIX_TEXT = /^\d+(?:\.\d+)?$/;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const RFC_2822 =
  /^(?:[a-z]{3},\s*)?(\d{1,2})\s+([a-z]{3})\s+(\d{4})\s+(?:[01]\d|2[0-3]):\d{2}(?::\d{2})?\s+(?:[+-]\d{4}|gmt|utc?|[ecmp][sd]t)(?:\s*\([^)]*\))?$/i;

/**
 * Milliseconds since 1970 of a time up to the year 9999: ISO 8601 (UTC if it has no offset), Unix seconds or
 * milliseconds (as a number or as text), or an RFC 2822 date. Undefined for anything else, including a day that its
 * month lacks, hour 24, a leap second, or an offset of 24 hours or more: `Date` would take some for another moment.
 */
export function parseTimestampMs(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return toValidMs(toUnixMs(value));
  if (typeof value !== 'string') return undefined;
  return toValidMs(CANONICAL_TIMESTAMP.test(value) ? toCanonicalTimeMs(value) : parseOtherTimestamp(value.trim()));
}

function toValidMs(timeMs: number): number | undefined {
  return timeMs >= 0 && timeMs <= MAX_TIMESTAMP_MS ? timeMs : undefined;
}

function toUnixMs(number: number): number {
  if (number < LEAST_SECONDS) return Number.NaN;
  return Math.round(number < LEAST_MILLISECONDS ? number * 1000 : number);
}

/** Much faster than `Date.parse`; every line needs two of these. */
function toCanonicalTimeMs(text: string): number {
  const digit = (index: number): number => text.charCodeAt(index) - 48;
  const pair = (index: number): number => digit(index) * 10 + digit(index + 1);
  const milliseconds = digit(20) * 100 + pair(21);
  return Date.UTC(pair(0) * 100 + pair(2), pair(5) - 1, pair(8), pair(11), pair(14), pair(17), milliseconds);
}

/** The time in ISO 8601, UTC, with milliseconds. `source` is what `timeMs` was parsed from. */
export function toIsoTimestamp(timeMs: number | undefined, source?: JsonValue): string | null {
  if (timeMs === undefined) return null;
  // The text is already what `Date` would produce, which is expensive.
  return typeof source === 'string' && CANONICAL_TIMESTAMP.test(source) ? source : new Date(timeMs).toISOString();
}

function parseOtherTimestamp(value: string): number {
  if (UNIX_TEXT.test(value)) return toUnixMs(Number(value));
  const match = ISO_TIMESTAMP.exec(value);
  if (match === null) return parseMailDate(value);
  if (match[4] === '24' || !isDayOfMonth(Number(match[1]), Number(match[2]), Number(match[3]))) {
    return Number.NaN;
  }
  const offset = match[8];
  const zone =
    offset === undefined || /z/i.test(offset) ? 'Z' : `${offset.slice(0, 3)}:${offset.slice(3).slice(-2) || '00'}`;
  const milliseconds = (match[7] ?? '').slice(0, 3).padEnd(3, '0');
  return Date.parse(
    `${match[1]}-${match[2]}-${match[3]}T${match[4]}:${match[5]}:${match[6] ?? '00'}.${milliseconds}${zone}`,
  );
}

function parseMailDate(value: string): number {
  const [, day, month = '', year] = RFC_2822.exec(value) ?? [];
  const isDay = isDayOfMonth(Number(year), MONTHS.indexOf(month.toLowerCase()) + 1, Number(day));
  return isDay ? Date.parse(value) : Number.NaN;
}

/** A time of SQLite, such as `2026-07-01 12:34:56`, is in UTC; anything else stays. */
export function toUtc(time: JsonValue | undefined): JsonValue | undefined {
  return typeof time === 'string' && /^\d{4}-\d{2}-\d{2} [\d:.]+$/.test(time) ? `${time.replace(' ', 'T')}Z` : time;
}

/** True if the month has that day; `month` is 1 to 12. */
export function isDayOfMonth(year: number, month: number, day: number): boolean {
  // Day 0 of the month after it is its last; 2000 stands for the leap years, as `Date.UTC` adds 1900 to years below 100.
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day >= 1 && day <= new Date(Date.UTC(isLeap ? 2000 : 2001, month, 0)).getUTCDate();
}
