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
 * Splits one JSON document into its entries, as `createLineSplitter` splits lines. These are the elements of a
 * top-level array, or the members of a top-level object. A member that is an array gives one entry for each element.
 * `key` is the member's name. Holds at most `maxEntryBytes` of an unfinished entry; `longLines` decides what happens to
 * longer ones. Entries are counted from 1.
 */
export function createDocumentSplitter(
  maxEntryBytes: number,
  onEntry: (entry: RawLine) => void,
  position: LinePosition = { lineCount: 0, byteOffset: 0 },
  options: { longLines?: LongLines } = {},
): LineSplitter {
  return new Splitter(maxEntryBytes, onEntry, position, options);
}

class Splitter implements LineSplitter {
  readonly #onEntry: (entry: RawLine) => void;
  readonly #position: LinePosition;
  readonly #buffer: ReturnType<typeof createLineBuffer>;
  #place: Place = 'root';
  /**
   * Flags for a top level that is an object, and for a place inside an array (the top-level one, or a member that is
   * one).
   */
  #isObject = false;
  #isInArray = false;
  #key: string | undefined;
  #keyBytes: number[] = [];
  #isEscaped = false;
  #isInString = false;
  #isScalar = false;
  #depth = 0;
  #entryOffset = 0;
  #byteCount: number;

  constructor(
    maxEntryBytes: number,
    onEntry: (entry: RawLine) => void,
    position: LinePosition,
    { longLines = 'skip' }: { longLines?: LongLines },
  ) {
    this.#onEntry = onEntry;
    this.#position = position;
    this.#buffer = createLineBuffer(maxEntryBytes, longLines);
    this.#byteCount = position.byteOffset;
  }

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (this.#place === 'entry') {
        if (this.#isScalar ? !this.#isScalarEnd(byte) : !this.#endsEntry(byte)) continue;
        const end = this.#isScalar ? at : at + 1;
        this.#emit(bytes.subarray(start, end), true);
        this.#place = 'after';
        if (!this.#isScalar || isBlank(byte)) continue;
      }
      if (this.#place === 'in-name') this.#readName(byte);
      else if (this.#place !== 'lost' && !isBlank(byte)) {
        if (!this.#readBetween(byte, at)) this.#lose(at);
        // The first byte of the value has been read already.
        start = at;
      }
    }
    // TypeScript does not see that closures change the place.
    if ((this.#place as Place) === 'entry') this.#buffer.hold(bytes.subarray(start));
    this.#byteCount += bytes.length;
    this.#position.byteOffset = this.#byteCount;
  }

  finish(): void {
    if (this.#place === 'entry') this.#emit(NOTHING, false);
    else if (this.#place !== 'root' && this.#place !== 'lost') this.#emitBroken(false);
  }

  get lineCount(): number {
    return this.#position.lineCount;
  }

  get byteCount(): number {
    return this.#byteCount;
  }

  #emit(lastPart: Buffer, terminated: boolean): void {
    const entry = this.#buffer.take(lastPart);
    const lineNumber = ++this.#position.lineCount;
    this.#onEntry({ lineNumber, byteOffset: this.#entryOffset, ...entry, terminated, key: this.#key ?? '' });
  }

  #emitBroken(terminated: boolean): void {
    const lineNumber = ++this.#position.lineCount;
    this.#onEntry({
      lineNumber,
      byteOffset: this.#byteCount,
      byteLength: 0,
      bytes: NOTHING,
      terminated,
      key: '',
      isBroken: true,
    });
  }

  #lose(at: number): void {
    this.#place = 'lost';
    this.#byteCount += at;
    this.#emitBroken(true);
    this.#byteCount -= at;
  }

  #beginEntry(byte: number, at: number): void {
    this.#entryOffset = this.#byteCount + at;
    this.#isInString = byte === QUOTE;
    this.#isScalar = !this.#isInString && byte !== OPEN_OBJECT && byte !== OPEN_ARRAY;
    this.#depth = this.#isInString || this.#isScalar ? 0 : 1;
    this.#isEscaped = false;
    this.#place = 'entry';
  }

  /** Advances past a byte between entries; returns false if that byte is not allowed there. */
  #readBetween(byte: number, at: number): boolean {
    switch (this.#place) {
      case 'root':
        this.#isObject = byte === OPEN_OBJECT;
        this.#isInArray = !this.#isObject;
        this.#key = undefined;
        this.#place = this.#isObject ? 'name' : 'element';
        return this.#isObject || byte === OPEN_ARRAY;
      case 'name':
        this.#keyBytes = [];
        this.#place = byte === QUOTE ? 'in-name' : 'root';
        return byte === QUOTE || byte === CLOSE_OBJECT;
      case 'colon':
        this.#place = 'value';
        return byte === COLON;
      case 'value':
        if (byte === OPEN_ARRAY) {
          this.#isInArray = true;
          this.#place = 'element';
        } else this.#beginEntry(byte, at);
        return true;
      case 'element':
        if (byte === CLOSE_ARRAY) this.#closeArray();
        else this.#beginEntry(byte, at);
        return true;
      default:
        if (byte === COMMA) this.#place = this.#isInArray ? 'element' : 'name';
        else if (this.#isInArray) this.#closeArray();
        else this.#place = 'root';
        return byte === COMMA || byte === (this.#place === 'root' && this.#isObject ? CLOSE_OBJECT : CLOSE_ARRAY);
    }
  }

  #closeArray(): void {
    this.#place = this.#isObject ? 'after' : 'root';
    this.#isInArray = false;
  }

  #readName(byte: number): void {
    if (!this.#isEscaped && byte === QUOTE) {
      this.#key = toName(this.#keyBytes);
      this.#place = 'colon';
      return;
    }
    this.#isEscaped = !this.#isEscaped && byte === BACKSLASH;
    if (this.#keyBytes.length < MAX_KEY_BYTES) this.#keyBytes.push(byte);
  }

  /** True if this byte ends the current entry. */
  #endsEntry(byte: number): boolean {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#isInString = false;
      return !this.#isInString && this.#depth === 0;
    }
    if (byte === QUOTE) this.#isInString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#depth--;
    return this.#depth === 0 && !this.#isInString;
  }

  #isScalarEnd(byte: number): boolean {
    return byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || isBlank(byte);
  }
}

/**
 * An entry as readers get it (an element of the top-level array unchanged, a member as an object with only that
 * member).
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
