import type { JsonValue } from '../rows.ts';

export interface ParsedJsonLine {
  /** The line's JSON values in order: one, or several where objects were glued together. */
  values: JsonValue[];
  /** True where something on the line could not be read. */
  isBroken: boolean;
}

/**
 * Reads a line as JSON. Where that fails, reads the complete objects at its beginning: writers that crash or race leave
 * several objects, or an object and a torn one, on a line.
 */
export function parseJsonLine(text: string): ParsedJsonLine {
  try {
    return { values: [JSON.parse(text) as JsonValue], isBroken: false };
  } catch {
    return parseGluedObjects(text);
  }
}

/** A line of 64 MiB could hold millions of empty objects; two are what is seen in the field. */
const MAX_OBJECTS_PER_LINE = 100;

function parseGluedObjects(text: string): ParsedJsonLine {
  const values: JsonValue[] = [];
  let start = skipWhitespace(text, 0);
  while (start < text.length) {
    const end = values.length < MAX_OBJECTS_PER_LINE ? findObjectEnd(text, start) : -1;
    if (end === -1) return { values, isBroken: true };
    try {
      values.push(JSON.parse(text.slice(start, end)) as JsonValue);
    } catch {
      return { values, isBroken: true };
    }
    start = skipWhitespace(text, end);
  }
  return { values, isBroken: values.length === 0 };
}

/** Not NUL and other control characters: where a crash left them, the line is broken. */
const JSON_WHITESPACE = ' \t\r\n';

function skipWhitespace(text: string, from: number): number {
  let index = from;
  while (index < text.length && JSON_WHITESPACE.includes(text.charAt(index))) index++;
  return index;
}

/** Index after the object that starts at `start`, or -1 where none starts or ends. */
function findObjectEnd(text: string, start: number): number {
  if (text[start] !== '{') return -1;
  let depth = 0;
  let inString = false;
  for (let index = start; index < text.length; index++) {
    const character = text[index];
    if (inString) {
      if (character === '\\') index++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{') depth++;
    else if (character === '}' && --depth === 0) return index + 1;
  }
  return -1;
}
