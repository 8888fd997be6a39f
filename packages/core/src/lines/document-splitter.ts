import type { JsonValue } from './json.ts';
import { createLineBuffer, type LongLines } from './line-buffer.ts';
import type { LinePosition, LineSplitter, RawLine } from './line-splitter.ts';

const NOTHING = Buffer.alloc(0);
/** Longer member names are cut; those that readers know are much shorter. */
const MAX_KEY_BYTES = 256;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Position of the next byte in the document: `root` before or after the document, `name` before a member's name,
 * `in-name` within it, `colon` after it, `value` before a member's value, `element` before an array element, `entry`
 * within a value, `after` behind one, `lost` after something that is not JSON.
 */
type Place = 'root' | 'name' | 'in-name' | 'colon' | 'value' | 'element' | 'entry' | 'after' | 'lost';

/**
 * Splits one JSON document into its entries, as `createLineSplitter` splits lines: the elements of a top-level array,
 * or the members of a top-level object. A member that is an array gives one entry for each element. `key` is the
 * member's name. Holds at most `maxEntryBytes` of an unfinished entry; `longLines` decides what happens to longer ones.
 * Entries are counted from 1.
 */
export function createDocumentSplitter(
  maxEntryBytes: number,
  onEntry: (entry: RawLine) => void,
  position: LinePosition = { lineCount: 0, byteOffset: 0 },
  { longLines = 'skip' }: { longLines?: LongLines } = {},
): LineSplitter {
  const buffer = createLineBuffer(maxEntryBytes, longLines);
  let place: Place = 'root';
  /**
   * Whether the top level is an object, and whether the place is inside an array: the top-level one, or a member that
   * is one.
   */
  let isObject = false;
  let isInArray = false;
  let key: string | undefined;
  let keyBytes: number[] = [];
  let isEscaped = false;
  let isInString = false;
  let isScalar = false;
  let depth = 0;
  let entryOffset = 0;
  let byteCount = position.byteOffset;

  const emit = (lastPart: Buffer, terminated: boolean): void => {
    const entry = buffer.take(lastPart);
    const lineNumber = ++position.lineCount;
    onEntry({ lineNumber, byteOffset: entryOffset, ...entry, terminated, key: key ?? '' });
  };

  const emitBroken = (terminated: boolean): void => {
    const lineNumber = ++position.lineCount;
    onEntry({ lineNumber, byteOffset: byteCount, byteLength: 0, bytes: NOTHING, terminated, key: '', isBroken: true });
  };

  const lose = (at: number): void => {
    place = 'lost';
    byteCount += at;
    emitBroken(true);
    byteCount -= at;
  };

  const beginEntry = (byte: number, at: number): void => {
    entryOffset = byteCount + at;
    isInString = byte === QUOTE;
    isScalar = !isInString && byte !== OPEN_OBJECT && byte !== OPEN_ARRAY;
    depth = isInString || isScalar ? 0 : 1;
    isEscaped = false;
    place = 'entry';
  };

  /** Advances past a byte between entries; returns false if that byte is not allowed there. */
  const readBetween = (byte: number, at: number): boolean => {
    switch (place) {
      case 'root':
        isObject = byte === OPEN_OBJECT;
        isInArray = !isObject;
        key = undefined;
        place = isObject ? 'name' : 'element';
        return isObject || byte === OPEN_ARRAY;
      case 'name':
        keyBytes = [];
        place = byte === QUOTE ? 'in-name' : 'root';
        return byte === QUOTE || byte === CLOSE_OBJECT;
      case 'colon':
        place = 'value';
        return byte === COLON;
      case 'value':
        if (byte === OPEN_ARRAY) {
          isInArray = true;
          place = 'element';
        } else beginEntry(byte, at);
        return true;
      case 'element':
        if (byte === CLOSE_ARRAY) closeArray();
        else beginEntry(byte, at);
        return true;
      default:
        if (byte === COMMA) place = isInArray ? 'element' : 'name';
        else if (isInArray) closeArray();
        else place = 'root';
        return byte === COMMA || byte === (place === 'root' && isObject ? CLOSE_OBJECT : CLOSE_ARRAY);
    }
  };

  const closeArray = (): void => {
    place = isObject ? 'after' : 'root';
    isInArray = false;
  };

  const readName = (byte: number): void => {
    if (!isEscaped && byte === QUOTE) {
      key = toName(keyBytes);
      place = 'colon';
      return;
    }
    isEscaped = !isEscaped && byte === BACKSLASH;
    if (keyBytes.length < MAX_KEY_BYTES) keyBytes.push(byte);
  };

  /** Whether this byte ends the current entry. */
  const endsEntry = (byte: number): boolean => {
    if (isInString) {
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) isInString = false;
      return !isInString && depth === 0;
    }
    if (byte === QUOTE) isInString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
    return depth === 0 && !isInString;
  };

  const isScalarEnd = (byte: number): boolean =>
    byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || isBlank(byte);

  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let start = 0;
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at] ?? 0;
        if (place === 'entry') {
          if (isScalar ? !isScalarEnd(byte) : !endsEntry(byte)) continue;
          const end = isScalar ? at : at + 1;
          emit(bytes.subarray(start, end), true);
          place = 'after';
          if (!isScalar || isBlank(byte)) continue;
        }
        if (place === 'in-name') readName(byte);
        else if (place !== 'lost' && !isBlank(byte)) {
          if (!readBetween(byte, at)) lose(at);
          // The first byte of the value has been read already.
          start = at;
        }
      }
      // TypeScript does not see that closures change the place.
      if ((place as Place) === 'entry') buffer.hold(bytes.subarray(start));
      byteCount += bytes.length;
      position.byteOffset = byteCount;
    },
    finish() {
      if (place === 'entry') emit(NOTHING, false);
      else if (place !== 'root' && place !== 'lost') emitBroken(false);
    },
    get lineCount() {
      return position.lineCount;
    },
    get byteCount() {
      return byteCount;
    },
  };
}

/**
 * An entry as readers get it: an element of the top-level array unchanged, a member as an object with only that member.
 */
export function toEntryObject(value: JsonValue, key: string | undefined): JsonValue {
  return key === undefined || key === '' ? value : { [key]: value };
}

/** White space, and the bytes of a byte order mark, which can occur nowhere else between the parts of a document. */
function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0xef || byte === 0xbb || byte === 0xbf;
}

function toName(bytes: readonly number[]): string {
  const text = Buffer.from(bytes).toString();
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}
