import type { JsonValue } from '../rows.ts';

/** Nesting that Postgres' jsonb parser takes with its default max_stack_depth of 2 MB, with a wide margin. */
export const MAX_STORED_JSON_DEPTH = 256;

export interface LimitedValue<T> {
  value: T;
  /** UTF-8 bytes of the whole, present only where `value` was cut. */
  originalByteLength?: number;
}

/** The text, or as much of its beginning as fits into `maxBytes` of UTF-8 without cutting a character. */
export function limitText(text: string, maxBytes: number): LimitedValue<string> {
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (text.length * 3 <= maxBytes) return { value: text };
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return { value: text };
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return { value: bytes.toString('utf8', 0, end), originalByteLength: bytes.length };
}

/** Whether objects and arrays lie deeper than `maxDepth`. */
export function isNestedDeeperThan(value: JsonValue, maxDepth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (maxDepth === 0) return true;
  if (Array.isArray(value)) return value.some((child) => isNestedDeeperThan(child, maxDepth - 1));
  for (const key in value) if (isNestedDeeperThan(value[key] ?? null, maxDepth - 1)) return true;
  return false;
}

/**
 * The value, or a string with the first `maxBytes` of its JSON where that is longer, or null where it is nested too
 * deep. `byteLength` is that of its whole JSON, and 0 for the last.
 */
export function limitJson(
  value: JsonValue,
  maxBytes: number,
): LimitedValue<JsonValue> & { isTooDeep: boolean; byteLength: number } {
  if (isNestedDeeperThan(value, MAX_STORED_JSON_DEPTH)) return { value: null, isTooDeep: true, byteLength: 0 };
  const json = JSON.stringify(value);
  const limited = limitText(json, maxBytes);
  return limited.originalByteLength === undefined
    ? { value, isTooDeep: false, byteLength: Buffer.byteLength(json) }
    : { ...limited, isTooDeep: false, byteLength: limited.originalByteLength };
}
