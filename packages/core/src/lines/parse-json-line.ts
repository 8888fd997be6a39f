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

function parseGluedObjects(text: string): ParsedJsonLine {
  const values: JsonValue[] = [];
  let start = skipWhitespace(text, 0);
  while (start < text.length) {
    const end = findObjectEnd(text, start);
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

function skipWhitespace(text: string, from: number): number {
  let index = from;
  while (index < text.length && text.charCodeAt(index) <= 0x20) index++;
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
