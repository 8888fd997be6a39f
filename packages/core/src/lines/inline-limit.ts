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
  for (const child of Array.isArray(value) ? value : Object.values(value)) {
    if (isNestedDeeperThan(child, maxDepth - 1)) return true;
  }
  return false;
}

/**
 * The value, or a string with the first `maxBytes` of its JSON where that is longer. Too deep nesting gives such a
 * string as well, or null where even `JSON.stringify` gives up.
 */
export function limitJson(value: JsonValue, maxBytes: number): LimitedValue<JsonValue> & { isTooDeep: boolean } {
  const isTooDeep = isNestedDeeperThan(value, MAX_STORED_JSON_DEPTH);
  const json = stringifyOrUndefined(value);
  if (json === undefined) return { value: null, isTooDeep: true };
  const limited = limitText(json, maxBytes);
  if (limited.originalByteLength !== undefined || isTooDeep) return { ...limited, isTooDeep };
  return { value, isTooDeep: false };
}

function stringifyOrUndefined(value: JsonValue): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
