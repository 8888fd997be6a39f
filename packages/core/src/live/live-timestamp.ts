import { parseTimestampMs } from '../records/fields.ts';
import type { JsonValue } from '../rows.ts';

/** As seconds this is the year 5138, as milliseconds 1973: no stream is from either. */
const LEAST_MILLISECONDS = 1e11;
const MAX_TIMESTAMP_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const RFC_2822 =
  /^(?:[a-z]{3},\s*)?\d{1,2}\s+[a-z]{3}\s+\d{4}\s+\d{2}:\d{2}(?::\d{2})?\s+(?:[+-]\d{4}|gmt|utc?|[ecmp][sd]t)(?:\s*\([^)]*\))?$/i;

/**
 * Milliseconds since 1970 of an ISO 8601 timestamp, Unix seconds or milliseconds (as a number or as text), or an
 * RFC 2822 date. Undefined where it is none of these.
 */
export function parseLiveTimestampMs(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return toUnixMs(value);
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (/^\d+(?:\.\d+)?$/.test(text)) return toUnixMs(Number(text));
  return parseTimestampMs(text) ?? (RFC_2822.test(text) ? toValidMs(Date.parse(text)) : undefined);
}

function toUnixMs(number: number): number | undefined {
  return toValidMs(Math.round(number < LEAST_MILLISECONDS ? number * 1000 : number));
}

function toValidMs(timeMs: number): number | undefined {
  return timeMs >= 0 && timeMs <= MAX_TIMESTAMP_MS ? timeMs : undefined;
}
