import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../lines/json.ts';

/** A place in lines, as the line's index, then names and indexes; `$` goes into the JSON of a text. */
type Place = readonly (string | number)[];

/** The lines of `<agent>/<format>.records.txt`. */
export function readRecordedLines(path: string): JsonObject[] {
  const text = readFileSync(join(import.meta.dirname, `../agents/${path}.records.txt`), 'utf8');
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as JsonObject);
}

const USAGE_FIELD = /^(?:usage|tokens|token_?usage|last_token_usage|usageMetadata|accumulated_token_usage|stats|row)$/i;
const COUNT_FIELD = /token|input|output|prompt|completion/i;

/** The first two usages in each kind of place, where the kind leaves out indexes. */
export function findUsages(lines: readonly JsonObject[]): Place[] {
  const found: Place[] = [];
  const countOf = new Map<string, number>();
  const search = (value: JsonValue, place: Place): void => {
    if (typeof value === 'string' && value.startsWith('{')) {
      const inner = parse(value);
      if (inner !== undefined) search(inner, [...place, '$']);
    }
    if (typeof value !== 'object' || value === null) return;
    const field = place.findLast((part) => typeof part === 'string' && part !== '$');
    if (USAGE_FIELD.test(String(field ?? '')) && hasCounts(value)) {
      const kind = place.filter((part) => typeof part === 'string').join('.');
      countOf.set(kind, (countOf.get(kind) ?? 0) + 1);
      if ((countOf.get(kind) ?? 0) <= 2) found.push(place);
    }
    const children = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
    for (const [part, child] of children) search(child, [...place, part]);
  };
  for (const [index, line] of lines.entries()) search(line, [index]);
  return found;
}

/** A copy of the lines with the object at a place changed. */
export function changeAt(
  lines: readonly JsonObject[],
  place: Place,
  change: (usage: JsonObject) => JsonValue,
): JsonObject[] {
  return edit([...lines], place, change) as JsonObject[];
}

function edit(value: JsonValue, [part, ...rest]: Place, change: (usage: JsonObject) => JsonValue): JsonValue {
  if (part === undefined) return change(value as JsonObject);
  if (part === '$') return JSON.stringify(edit(parse(value as string) ?? null, rest, change));
  if (Array.isArray(value)) return value.with(part as number, edit(value[part as number] ?? null, rest, change));
  const object = value as JsonObject;
  return { ...object, [part]: edit(object[part] ?? null, rest, change) };
}

const hasCounts = (value: JsonObject | JsonValue[]): boolean =>
  !Array.isArray(value) &&
  Object.entries(value).some(([field, count]) => COUNT_FIELD.test(field) && typeof count === 'number' && count > 0);

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
