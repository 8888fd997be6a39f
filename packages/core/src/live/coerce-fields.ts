import { isJsonObject } from '../records/fields.ts';
import type { JsonObject, JsonValue } from '../rows.ts';

/** Told of each field that is missing though required, had to be converted, or could not be. */
export type FieldReport = (code: 'missing_field' | 'coerced_field' | 'invalid_field', field: string) => void;

const NUMERIC_TEXT = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/** Text; a number or boolean as it is written. Null where absent, or where it is neither. */
export function toTextField(value: JsonValue | undefined, field: string, report: FieldReport): string | null {
  if (value === undefined || value === null || typeof value === 'string') return value ?? null;
  if (typeof value === 'number' || typeof value === 'boolean') {
    report('coerced_field', field);
    return String(value);
  }
  report('invalid_field', field);
  return null;
}

/** The same of a field that has to be there: `fallback` where it is not. */
export function toRequiredText(
  value: JsonValue | undefined,
  field: string,
  fallback: string,
  report: FieldReport,
): string {
  if (value === undefined || value === null) report('missing_field', field);
  return toTextField(value, field, report) ?? fallback;
}

/** A finite number, also written as text. Null where absent, or where it is neither. */
export function toNumberField(value: JsonValue | undefined, field: string, report: FieldReport): number | null {
  if (value === undefined || value === null || (typeof value === 'number' && Number.isFinite(value))) {
    return value ?? null;
  }
  const number = typeof value === 'string' && NUMERIC_TEXT.test(value) ? Number(value) : Number.NaN;
  report(Number.isFinite(number) ? 'coerced_field' : 'invalid_field', field);
  return Number.isFinite(number) ? number : null;
}

/** A boolean, also as 1 or 0, or written as text. Null where absent, or where it is none of these. */
export function toBooleanField(value: JsonValue | undefined, field: string, report: FieldReport): boolean | null {
  if (value === undefined || value === null || typeof value === 'boolean') return value ?? null;
  // Not of an object: one with a member `toString` cannot be made a text.
  const text = typeof value === 'object' ? '' : String(value).trim().toLowerCase();
  const isKnown = ['true', 'false', '1', '0'].includes(text);
  report(isKnown ? 'coerced_field' : 'invalid_field', field);
  return isKnown ? text === 'true' || text === '1' : null;
}

/** A list of texts; a single one counts as a list, elements that are no texts are left out. */
export function toTextListField(value: JsonValue | undefined, field: string, report: FieldReport): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    const text = toTextField(value, field, report);
    if (typeof value === 'string') report('coerced_field', field);
    return text === null ? [] : [text];
  }
  return value.flatMap((element) => toTextField(element, field, report) ?? []);
}

/** The object with each of the named fields, where present, converted to a number; what cannot be converted is dropped. */
export function withNumberFields(
  source: JsonObject,
  fields: readonly string[],
  path: string,
  report: FieldReport,
): JsonObject {
  if (fields.every((field) => source[field] === undefined || typeof source[field] === 'number')) return source;
  const target = { ...source };
  for (const field of fields) {
    if (source[field] !== undefined) target[field] = toNumberField(source[field], `${path}.${field}`, report);
  }
  return target;
}

/** The object in a field; undefined and reported where something else is there. */
export function toObjectField(
  value: JsonValue | undefined,
  field: string,
  report: FieldReport,
): JsonObject | undefined {
  if (value === undefined || value === null || isJsonObject(value)) return value ?? undefined;
  report('invalid_field', field);
  return undefined;
}
