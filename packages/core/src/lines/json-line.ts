import { isUtf8 } from 'node:buffer';
import type { IssueCode, IssueSeverity } from '../issues.ts';
import type { JsonValue } from '../rows.ts';

const REPLACEMENT = '\uFFFD';
/**
 * Only these escapes can put a NUL or half a surrogate pair into a string decoded from UTF-8. Testing for `\u` first
 * would take three times as long on text with many escapes, because it stops at every backslash.
 */
const SUSPECT_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

/** Whether a line's JSON text may hold characters that Postgres rejects. */
export function maySmuggleCharacters(jsonText: string): boolean {
  return SUSPECT_ESCAPE.test(jsonText);
}

/** Text without NUL and lone surrogates, which Postgres rejects in text and jsonb: each becomes U+FFFD. */
export function toStorableText(text: string): { text: string; replacedCount: number } {
  if (text.isWellFormed() && !text.includes('\0')) return { text, replacedCount: 0 };
  let replacedCount = 0;
  const storable = text.replace(/\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, () => {
    replacedCount++;
    return REPLACEMENT;
  });
  return { text: storable, replacedCount };
}

/** The same for every string and key of a JSON value, at any depth. */
export function toStorableJson(root: JsonValue): { value: JsonValue; replacedCount: number } {
  let replacedCount = 0;
  const clean = (text: string): string => {
    const result = toStorableText(text);
    replacedCount += result.replacedCount;
    return result.text;
  };
  if (typeof root === 'string') return { value: clean(root), replacedCount };
  // Uses an explicit stack: JSON.parse accepts nesting that would overflow the call stack here.
  const stack: JsonValue[] = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (Array.isArray(node)) {
      for (const [index, child] of node.entries()) {
        if (typeof child === 'string') node[index] = clean(child);
        else if (typeof child === 'object' && child !== null) stack.push(child);
      }
    } else if (typeof node === 'object' && node !== null) {
      for (const [key, child] of Object.entries(node)) {
        const cleanKey = clean(key);
        const cleanChild = typeof child === 'string' ? clean(child) : child;
        if (cleanKey !== key) delete node[key];
        if (cleanKey !== key || cleanChild !== child) defineOwn(node, cleanKey, cleanChild);
        if (typeof cleanChild === 'object' && cleanChild !== null) stack.push(cleanChild);
      }
    }
  }
  return { value: root, replacedCount };
}

/** Plain assignment would run the setter of a key named `__proto__`. */
function defineOwn(target: { [key: string]: JsonValue }, key: string, value: JsonValue): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

interface DecodedLine {
  text: string;
  /** Invalid UTF-8 sequences; each became U+FFFD. */
  invalidSequenceCount: number;
}

/** Decodes a line's bytes as UTF-8, replacing invalid sequences. */
export function decodeLine(bytes: Buffer): DecodedLine {
  const text = bytes.toString();
  return { text, invalidSequenceCount: countInvalidSequences(bytes, text) };
}

function countInvalidSequences(bytes: Buffer, text: string): number {
  // Invalid sequences become U+FFFD, and searching a Latin-1 string for that is free.
  if (!text.includes('\uFFFD') || isUtf8(bytes)) return 0;
  const replacements = countOccurrences(text, '\uFFFD');
  const genuine = countOccurrences(bytes.toString('latin1'), '\u00EF\u00BF\u00BD');
  return Math.max(1, replacements - genuine);
}

function countOccurrences(text: string, part: string): number {
  let count = 0;
  for (let index = text.indexOf(part); index !== -1; index = text.indexOf(part, index + part.length)) count++;
  return count;
}

interface ParsedJsonLine {
  /** The line's JSON values in order: one, or several if objects were written without a line feed between them. */
  values: JsonValue[];
  /** True if part of the line could not be read. */
  isBroken: boolean;
}

/**
 * Reads a line as JSON. If that fails, reads the complete objects at its beginning: writers that crash or race leave
 * several objects, or a complete and an incomplete one, on a line.
 */
export function parseJsonLine(text: string): ParsedJsonLine {
  try {
    return { values: [JSON.parse(text) as JsonValue], isBroken: false };
  } catch {
    return parseGluedObjects(text);
  }
}

/** A line of 64 MiB could hold millions of empty objects; real lines have at most two. */
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

/** NUL and other control characters are left out: a line with those, after a crash, is broken. */
const JSON_WHITESPACE = ' \t\r\n';

function skipWhitespace(text: string, from: number): number {
  let index = from;
  while (index < text.length && JSON_WHITESPACE.includes(text.charAt(index))) index++;
  return index;
}

/** Index after the object that starts at `start`, or -1 if no complete object starts there. */
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

interface JsonLine {
  /** The decoded text. */
  text: string;
  /**
   * In order: one, or several if objects were written without a line feed between them. Without NUL and lone
   * surrogates.
   */
  values: JsonValue[];
  /** Part of the line could not be read. */
  isBroken: boolean;
}

type ReportFault = (code: IssueCode, severity: IssueSeverity, error: string, count?: number) => void;

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Reads a line's bytes, from a file or a stream. Undefined for a blank line. Repairs are reported. */
export function readJsonLine(lineBytes: Buffer, report: ReportFault): JsonLine | undefined {
  let bytes = lineBytes;
  // Checked on every line: files that each begin with a mark may have been concatenated.
  if (bytes[0] === BYTE_ORDER_MARK[0] && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK)) {
    report('byte_order_mark', 'warning', 'Byte order mark skipped');
    bytes = bytes.subarray(3);
  }
  const { text, invalidSequenceCount } = decodeLine(bytes);
  if (invalidSequenceCount > 0) report('invalid_utf8', 'warning', 'Invalid UTF-8 replaced', invalidSequenceCount);
  if (!text.startsWith('{') && text.trim() === '') return undefined;
  const { values, isBroken } = parseJsonLine(text);
  if (values.length > 1) report('glued_objects', 'warning', 'Several JSON objects on one line', values.length);
  if (maySmuggleCharacters(text)) {
    for (const [index, value] of values.entries()) {
      const storable = toStorableJson(value);
      values[index] = storable.value;
      if (storable.replacedCount === 0) continue;
      report('replaced_characters', 'warning', 'NUL or lone surrogate replaced', storable.replacedCount);
    }
  }
  return { text, values, isBroken };
}
