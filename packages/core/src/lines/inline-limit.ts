import { readUncutLength } from './cut-mark.ts';
import type { JsonValue } from './json.ts';

/**
 * The nesting depth that Postgres' jsonb parser accepts with its default max_stack_depth of 2 MB, with a wide margin.
 */
export const MAX_STORED_JSON_DEPTH = 256;

interface LimitedValue<T> {
  value: T;
  /** Length of the whole text as UTF-8, before anything was cut. */
  byteLength: number;
  isCut: boolean;
}

/** The text, or as much of its beginning as fits into `maxBytes` of UTF-8 without cutting a character. */
export function limitText(text: string, maxBytes: number): LimitedValue<string> {
  const byteLength = Buffer.byteLength(text);
  if (byteLength <= maxBytes) return { value: text, byteLength, isCut: false };
  // A character has at least one byte. Encoding all of the text could take three times its memory.
  const bytes = Buffer.from(text.slice(0, maxBytes + 1));
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return { value: bytes.toString('utf8', 0, end), byteLength: readUncutLength(text) ?? byteLength, isCut: true };
}

/** True if objects and arrays are deeper than `maxDepth`. */
export function isNestedDeeperThan(value: JsonValue, maxDepth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (maxDepth === 0) return true;
  if (Array.isArray(value)) return value.some((child) => isNestedDeeperThan(child, maxDepth - 1));
  for (const key in value) if (isNestedDeeperThan(value[key] ?? null, maxDepth - 1)) return true;
  return false;
}

/**
 * The value; or a string with the first `maxBytes` of its JSON if that is longer; or null if it is nested too deep.
 * `byteLength` is the length of the whole JSON, 0 in the last case.
 */
export function limitJson(value: JsonValue, maxBytes: number): LimitedValue<JsonValue> & { isTooDeep: boolean } {
  if (isNestedDeeperThan(value, MAX_STORED_JSON_DEPTH)) {
    return { value: null, byteLength: 0, isCut: false, isTooDeep: true };
  }
  const limited = limitText(JSON.stringify(value), maxBytes);
  return { ...limited, value: limited.isCut ? limited.value : value, isTooDeep: false };
}
