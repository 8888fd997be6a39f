import type { JsonObject, JsonValue } from '../lines/json.ts';
import { COST_UNITS_PER_USD } from './rows.ts';

/** Maximum length of a uuid, id, model, version, path… in a row; Postgres can index much longer ones. */
export const MAX_IDENTIFIER_LENGTH = 512;

/** Maximum length of the name of a type of lines, blocks or usage in an issue. */
export const MAX_TYPE_LENGTH = 64;

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function readObject(value: JsonValue | undefined): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

/**
 * The object in a field; undefined if there is none. Anything else is reported, except for an empty array, which some
 * programs write for an object without fields.
 */
export function readPart(
  source: JsonObject | undefined,
  field: string,
  onInvalid: (field: string) => void,
): JsonObject | undefined {
  const value = source?.[field];
  if (value === undefined || value === null || isJsonObject(value)) return value ?? undefined;
  if (!Array.isArray(value) || value.length > 0) onInvalid(field);
  return undefined;
}

/** The objects in an array, without anything else; none if it is no array. */
export function readObjects(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
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

/** A non-empty string, cut to 512 characters, or null. */
export function readShortText(value: JsonValue | undefined): string | null {
  const text = readText(value);
  return text === null ? null : cutCharacters(text, MAX_IDENTIFIER_LENGTH);
}

/** Shortest id that counts as globally unique: `msg_` and 24 characters, UUIDs, ULIDs…; not `msg_1`. */
const MIN_UNIQUE_ID_LENGTH = 20;

/** True if it is unlikely that any other response or tool use, in any session, has the same id. */
export function isUniqueId(id: string): boolean {
  return id.length >= MIN_UNIQUE_ID_LENGTH;
}

/** No session costs nearly this much; larger figures are faults. */
const MAX_REPORTED_DOLLARS = 1e5;
/** No session uses nearly this many; larger figures are faults. */
export const MAX_REPORTED_TOKENS = 1e12;

const NUMERIC_TEXT = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/** A finite number, even if written as text; undefined for anything else. */
export function toNumber(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'string' && !NUMERIC_TEXT.test(value)) return undefined;
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** `true` or `false`, also as 1 or 0 or written as text; undefined for anything else. */
export function toFlag(value: JsonValue | undefined): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const text = String(value).trim().toLowerCase();
  if (text === 'true' || text === '1') return true;
  return text === 'false' || text === '0' ? false : undefined;
}

/** US dollars, rounded to 1e-10; null if missing or implausible. An implausible value is reported. */
export function readDollars(value: JsonValue | undefined, onInvalid: () => void): number | null {
  if (value === undefined || value === null) return null;
  const dollars = toNumber(value);
  if (dollars !== undefined && dollars >= 0 && dollars <= MAX_REPORTED_DOLLARS) {
    return Math.round(dollars * COST_UNITS_PER_USD) / COST_UNITS_PER_USD;
  }
  onInvalid();
  return null;
}

/** A whole number of at most `max`; null if missing or implausible. An implausible value is reported. */
export function readCount(value: JsonValue | undefined, max: number, onInvalid: () => void): number | null {
  if (value === undefined || value === null) return null;
  const count = toNumber(value);
  if (count !== undefined && Number.isSafeInteger(count) && count >= 0 && count <= max) return count;
  onInvalid();
  return null;
}

/**
 * The first `maxLength` UTF-16 units, or one fewer if that would split a surrogate pair. A cut text is a copy. A slice
 * would keep the whole text in memory as long as the row.
 */
export function cutCharacters(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const last = text.charCodeAt(maxLength - 1);
  return Buffer.from(text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxLength - 1 : maxLength)).toString();
}

const ELLIPSIS = '...';
/** UTF-16 units examined for each character; a family emoji has 11. Bounds the cost of stacked accents. */
const MAX_UNITS_PER_CHARACTER = 32;
let segmenter: Intl.Segmenter | undefined;

/**
 * Text of at most `maxCharacters`; if it was cut, `...` takes the last three. Characters are grapheme clusters, so no
 * emoji or accented letter is split.
 */
export function cutText(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const head = cutCharacters(text, maxCharacters * MAX_UNITS_PER_CHARACTER);
  let kept = '';
  let count = 0;
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  for (const { segment } of segmenter.segment(head)) {
    if (++count > maxCharacters) return kept + ELLIPSIS;
    if (count <= maxCharacters - ELLIPSIS.length) kept += segment;
  }
  return head.length === text.length ? text : kept + ELLIPSIS;
}

/** Text on one line. Line breaks and other control characters, which a terminal would act on, become a space. */
export function toOneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
}
