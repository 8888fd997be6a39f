import { COST_UNITS_PER_USD } from '../pricing/price-table.ts';
import type { JsonObject, JsonValue } from '../rows.ts';

/** Longest uuid, id, model, version, path… that goes into a row; Postgres can index far more than this. */
export const MAX_IDENTIFIER_LENGTH = 512;

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function readObject(value: JsonValue | undefined): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** A non-empty string, or null. */
export function readText(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A non-empty string of at most 512 characters, or null. A number counts as its digits. */
export function readIdentifier(value: JsonValue | undefined, onCut: () => void): string | null {
  const text = typeof value === 'number' ? String(value) : readText(value);
  if (text === null || text.length <= MAX_IDENTIFIER_LENGTH) return text;
  onCut();
  return cutCharacters(text, MAX_IDENTIFIER_LENGTH);
}

/** No session costs near it; larger figures are faults. */
const MAX_DOLLARS = 1e5;

/** US dollars, to the 1e-10 that costs are counted in; null where the value is no plausible sum. */
export function readDollars(value: JsonValue | undefined): number | null {
  if (typeof value !== 'number' || !(value >= 0 && value <= MAX_DOLLARS)) return null;
  return Math.round(value * COST_UNITS_PER_USD) / COST_UNITS_PER_USD;
}

/** A whole number of at most 1e15, or null. */
export function readCount(value: JsonValue | undefined): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1e15 ? value : null;
}

/**
 * The first `maxLength` UTF-16 units, one fewer where that would split a surrogate pair. What is cut is a copy: a slice
 * would keep the whole text in memory for as long as the row.
 */
export function cutCharacters(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const last = text.charCodeAt(maxLength - 1);
  return Buffer.from(text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxLength - 1 : maxLength)).toString();
}

const ISO_TIMESTAMP =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/i;
/** As `Date` writes it, and nearly every transcript; of the days that every month has. */
const CANONICAL_TIMESTAMP =
  /^[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;
/** Years of five digits are no timestamps to Postgres. */
const MAX_TIMESTAMP_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * Milliseconds since 1970 of an ISO 8601 timestamp up to the year 9999; without an offset it is UTC. Undefined where it
 * is none.
 */
export function parseTimestampMs(value: JsonValue | undefined): number | undefined {
  if (typeof value !== 'string') return undefined;
  const timeMs = CANONICAL_TIMESTAMP.test(value) ? toCanonicalTimeMs(value) : parseOtherTimestamp(value);
  return timeMs >= 0 && timeMs <= MAX_TIMESTAMP_MS ? timeMs : undefined;
}

/** Much faster than `Date.parse`, of which every line needs two. */
function toCanonicalTimeMs(text: string): number {
  const digit = (index: number): number => text.charCodeAt(index) - 48;
  const pair = (index: number): number => digit(index) * 10 + digit(index + 1);
  const milliseconds = digit(20) * 100 + pair(21);
  return Date.UTC(pair(0) * 100 + pair(2), pair(5) - 1, pair(8), pair(11), pair(14), pair(17), milliseconds);
}

/** The time in ISO 8601, UTC, with milliseconds. `source` is what `timeMs` was parsed from. */
export function toIsoTimestamp(timeMs: number | undefined, source?: JsonValue): string | null {
  if (timeMs === undefined) return null;
  // A text like this is the one that `Date` would write, at some cost.
  return typeof source === 'string' && CANONICAL_TIMESTAMP.test(source) ? source : new Date(timeMs).toISOString();
}

function parseOtherTimestamp(value: string): number {
  const match = ISO_TIMESTAMP.exec(value);
  if (match === null) return Number.NaN;
  const offset = match[8];
  const zone =
    offset === undefined || /z/i.test(offset) ? 'Z' : `${offset.slice(0, 3)}:${offset.slice(3).slice(-2) || '00'}`;
  const milliseconds = (match[7] ?? '').slice(0, 3).padEnd(3, '0');
  return Date.parse(
    `${match[1]}-${match[2]}-${match[3]}T${match[4]}:${match[5]}:${match[6] ?? '00'}.${milliseconds}${zone}`,
  );
}
