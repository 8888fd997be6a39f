import { isUtf8 } from 'node:buffer';
import { limitText } from './inline-limit.ts';
import type { IssueCode, IssueSeverity } from './issues.ts';
import type { JsonValue } from './json.ts';
import { beginNestedJson, hasMoreValues, MAX_LINE_VALUES } from './json-values.ts';
import { LineCutter } from './line-cutter.ts';

const REPLACEMENT = '\uFFFD';
/**
 * Only these escapes can put a NUL or half a surrogate pair into a string decoded from UTF-8. Testing for `\u` first
 * would take three times as long on text with many escapes, because it stops at every backslash.
 */
const SUSPECT_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

/** True if a line's JSON text may hold characters that Postgres rejects. */
export function maySmuggleCharacters(jsonText: string): boolean {
  return SUSPECT_ESCAPE.test(jsonText);
}

/** Text without NUL and lone surrogates, which Postgres rejects in text and jsonb. Each becomes U+FFFD. */
export function toStorableText(text: string): { text: string; replacedCount: number } {
  if (text.isWellFormed() && !text.includes('\0')) return { text, replacedCount: 0 };
  // In a buffer, because replacing in strings makes an object or more of each of what may be millions.
  const units = Buffer.from(text.toWellFormed(), 'utf16le');
  let replacedCount = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = units.readUInt16LE(2 * at);
    if (unit === 0) units.writeUInt16LE(REPLACEMENT.charCodeAt(0), 2 * at);
    if (unit === 0 || unit !== text.charCodeAt(at)) replacedCount++;
  }
  return { text: units.toString('utf16le'), replacedCount };
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
  const replacements = countOccurrences(text, REPLACEMENT);
  const genuine = countOccurrences(bytes, REPLACEMENT);
  return Math.max(1, replacements - genuine);
}

function countOccurrences(text: string | Buffer, part: string): number {
  let count = 0;
  for (let index = text.indexOf(part); index !== -1; index = text.indexOf(part, index + 1)) count++;
  return count;
}

interface ParsedJsonLine {
  /**
   * The line's JSON values in order. There is one, or several if objects were written without a line feed between them.
   */
  values: JsonValue[];
  /** True if part of the line could not be read. */
  isBroken: boolean;
}

/**
 * Reads a line as JSON. If that fails, reads the complete objects at its beginning. Writers that crash or race leave
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

/** NUL and other control characters are left out. A line with those, after a crash, is broken. */
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
  /** Up to 1,000 bytes of the text, if part of the line could not be read or is no object; else empty. */
  beginning: string;
  /**
   * In order. One, or several if objects were written without a line feed between them. Without NUL and lone
   * surrogates.
   */
  values: JsonValue[];
  /** Part of the line could not be read. */
  isBroken: boolean;
}

type ReportFault = (code: IssueCode, severity: IssueSeverity, error: string, count?: number) => void;

const MAX_BEGINNING_BYTES = 1000;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Reads a line's bytes, from a file or a stream. Undefined for a blank line. Repairs are reported, and what is left out
 * of a line with too many values.
 */
export function readJsonLine(lineBytes: Buffer, report: ReportFault): JsonLine | undefined {
  let bytes = lineBytes;
  // Checked on every line, because files that each begin with a mark may have been concatenated.
  if (bytes[0] === BYTE_ORDER_MARK[0] && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK)) {
    report('byte_order_mark', 'warning', 'Byte order mark skipped');
    bytes = bytes.subarray(3);
  }
  const decoded = decodeLine(bytes);
  const { invalidSequenceCount } = decoded;
  const text = limitValues(decoded.text, report, bytes);
  if (invalidSequenceCount > 0) report('invalid_utf8', 'warning', 'Invalid UTF-8 replaced', invalidSequenceCount);
  if (!text.startsWith('{') && text.trim() === '') return undefined;
  const { values, isBroken } = parseJsonLine(text);
  beginNestedJson();
  if (values.length > 1) report('glued_objects', 'warning', 'Several JSON objects on one line', values.length);
  if (maySmuggleCharacters(text)) {
    for (const [index, value] of values.entries()) {
      const storable = toStorableJson(value);
      values[index] = storable.value;
      if (storable.replacedCount === 0) continue;
      report('replaced_characters', 'warning', 'NUL or lone surrogate replaced', storable.replacedCount);
    }
  }
  const hasOther = values.some((value) => value === null || typeof value !== 'object' || Array.isArray(value));
  const isQuotable = isBroken || hasOther;
  return { beginning: isQuotable ? limitText(text.trimStart(), MAX_BEGINNING_BYTES).value : '', values, isBroken };
}

/** The values of a line as `readJsonLine` gives them, without its faults. */
export function readJsonText(line: string): JsonValue[] {
  const text = limitValues(line.startsWith('\uFEFF') ? line.slice(1) : line);
  if (!text.startsWith('{') && text.trim() === '') return [];
  const { values } = parseJsonLine(text);
  beginNestedJson();
  return maySmuggleCharacters(text) ? values.map((value) => toStorableJson(value).value) : values;
}

/** The JSON, or if it has more than `MAX_LINE_VALUES` values, JSON of the first, as `LineCutter` chooses them. */
export function limitValues(json: string, report?: ReportFault, bytes?: Buffer): string {
  if (!hasMoreValues(json, MAX_LINE_VALUES)) return json;
  const unlimited = Number.POSITIVE_INFINITY;
  const cutter = new LineCutter({ maxBytes: unlimited, maxTextBytes: unlimited, maxValues: MAX_LINE_VALUES });
  cutter.push(bytes ?? Buffer.from(json));
  const cut = cutter.finish();
  if (cut.elementCount > 0) {
    // Formatting a number loads the locales, which takes longer than everything else as a program starts.
    const limit = MAX_LINE_VALUES.toLocaleString('en');
    report?.('line_cut', 'error', `Line of more than ${limit} values: elements left out`, cut.elementCount);
  }
  return cut.bytes.toString();
}

/**
 * Parses JSON of foreign origin that is no line of a transcript, as `JSON.parse` does, but in bounded memory. Of more
 * than `MAX_LINE_VALUES` values the first are read.
 */
export function parseForeignJson(text: string): JsonValue {
  return JSON.parse(limitValues(text)) as JsonValue;
}
