import { MAX_MARK_BYTES, toCutMark } from './cut-mark.ts';
import { createJsonText } from './json-text.ts';

/** The parts cut from a line of JSON. */
export interface LineCut {
  /** Texts cut to their beginning. */
  textCount: number;
  /** Array elements and object members that were left out. */
  elementCount: number;
}

interface CutLine extends LineCut {
  /** Valid JSON if the line was, without white space between values. */
  bytes: Buffer;
}

interface LineCutterOptions {
  /** The maximum output, which bounds memory. At least 256. */
  maxBytes: number;
  /** Texts longer than this many bytes of JSON are cut. */
  maxTextBytes: number;
  /** The maximum of values in the output. Defaults to any number. */
  maxValues?: number;
}

/** Values are left out if less room than this remains. It fits a cut text's mark, and any number. */
const MIN_VALUE_BYTES = 64;
/** Members with longer names are left out; those that readers know are much shorter. */
const MAX_KEY_BYTES = 1024;
const FIRST_CAPACITY_BYTES = 64 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** A byte that occurs in JSON only inside texts. */
const NO_JSON = 0x21;

/**
 * Position of the next byte in the line: `root` between top-level values, `first` after an opening bracket, `next`
 * after a comma, `colon` after a name, `value` before a member's value, `after` behind one; `key`, `text` and `scalar`
 * within one, `left-out` within a value that is left out, `lost` after something that is not JSON.
 */
type Place = 'root' | 'first' | 'next' | 'colon' | 'value' | 'after' | 'key' | 'text' | 'scalar' | 'left-out' | 'lost';

/** An array or object that is open. */
interface Frame {
  isObject: boolean;
  isEmpty: boolean;
  /** Output size where it must be closed. */
  endBytes: number;
  /** Number of values in the output that it must not exceed. */
  endValues: number;
}

/**
 * Cuts a line of JSON of any length while it streams past, so that the rest is JSON of at most `maxBytes`. Texts longer
 * than `maxTextBytes` keep their beginning, followed by a mark with their length. Usage comes last on a line and must
 * not be crowded out by what precedes it. So every value may take half of the room left in its array or object, in
 * bytes and in values, and elements with less than 64 bytes or no value left are dropped. The result depends only on
 * the bytes, not on how they are split into chunks.
 */
export class LineCutter {
  readonly #maxBytes: number;
  readonly #maxTextBytes: number;
  #output: Buffer<ArrayBuffer>;
  #length = 0;
  #textCount = 0;
  #elementCount = 0;
  #place: Place = 'root';
  readonly #root: Frame;
  readonly #frames: Frame[] = [];
  readonly #key: Buffer<ArrayBuffer>;
  #keyBytes = 0;
  /** Offset in the output of the current element, including its comma and name. */
  #elementStart = 0;
  #valueEnd = 0;
  #valueCount = 0;
  /** Number of values that may be in the output after the current one. */
  #lastValue = 0;
  readonly #text: ReturnType<typeof createJsonText>;
  /** Latest output offset where a text may be cut, and the offset where it would be. */
  #lastCutBytes = 0;
  #cutBytes = 0;
  #isCopying = false;
  #leftOutDepth = 0;
  #isLeftOutText = false;

  constructor({ maxBytes, maxTextBytes, maxValues = Number.POSITIVE_INFINITY }: LineCutterOptions) {
    this.#maxBytes = maxBytes;
    this.#maxTextBytes = maxTextBytes;
    this.#output = Buffer.allocUnsafe(Math.min(FIRST_CAPACITY_BYTES, maxBytes));
    this.#root = { isObject: false, isEmpty: true, endBytes: maxBytes, endValues: maxValues };
    this.#key = Buffer.allocUnsafe(MAX_KEY_BYTES);
    this.#text = createJsonText();
  }

  push(part: Buffer<ArrayBufferLike>): void {
    for (let at = 0; at < part.length; at++) {
      // Fast path for the bulk of a long line.
      if (this.#place === 'left-out' ? this.#isLeftOutText : this.#place === 'text' && !this.#isCopying)
        at = this.#text.skip(part, at);
      if (at < part.length) this.#read(part[at] ?? 0);
    }
  }

  /** Call it once. `closesTorn` closes open texts, arrays and objects of an incomplete line. */
  finish(closesTorn = false): CutLine {
    if (closesTorn) this.#closeTorn();
    return {
      bytes: this.#output.subarray(0, this.#length),
      textCount: this.#textCount,
      elementCount: this.#elementCount,
    };
  }

  #frame(): Frame {
    return this.#frames.at(-1) ?? this.#root;
  }

  #write(byte: number): void {
    if (this.#length === this.#output.length) {
      const larger = Buffer.allocUnsafe(Math.min(2 * this.#length, this.#maxBytes));
      this.#output.copy(larger, 0, 0, this.#length);
      this.#output = larger;
    }
    this.#output[this.#length++] = byte;
  }

  #writeAll(bytes: Buffer): void {
    for (const byte of bytes) this.#write(byte);
  }

  /** Writes the comma and the name before a value. Returns false if too little room is left for it. */
  #beginValue(): boolean {
    const { isObject, isEmpty, endBytes, endValues } = this.#frame();
    this.#elementStart = this.#length;
    const valuesLeft = Math.floor((endValues - this.#valueCount) / 2);
    const nameBytes = isObject ? this.#keyBytes + 3 : 0;
    const hasComma = !isEmpty && this.#frames.length > 0;
    const valueStart = this.#length + nameBytes + (hasComma ? 1 : 0);
    const valueBytes = Math.floor((endBytes - 1 - valueStart) / 2);
    if (valueBytes < MIN_VALUE_BYTES || valuesLeft < 1 || (isObject && this.#keyBytes > MAX_KEY_BYTES)) return false;
    if (hasComma) this.#write(COMMA);
    if (isObject) {
      this.#write(QUOTE);
      this.#writeAll(this.#key.subarray(0, this.#keyBytes));
      this.#write(QUOTE);
      this.#write(COLON);
    }
    this.#valueEnd = valueStart + valueBytes;
    this.#lastValue = this.#valueCount + valuesLeft;
    this.#valueCount++;
    return true;
  }

  #endValue(): void {
    this.#frame().isEmpty = false;
    this.#place = this.#frames.length === 0 ? 'root' : 'after';
  }

  #beginLeftOut(byte: number): void {
    this.#elementCount++;
    this.#length = this.#elementStart;
    this.#isLeftOutText = byte === QUOTE;
    this.#leftOutDepth = byte === OPEN_ARRAY || byte === OPEN_OBJECT ? 1 : 0;
    this.#text.begin();
    this.#place = 'left-out';
  }

  #readValue(byte: number): void {
    if (!this.#beginValue()) {
      this.#beginLeftOut(byte);
      return;
    }
    this.#write(byte);
    if (byte === QUOTE) {
      this.#place = 'text';
      this.#text.begin();
      this.#valueEnd = Math.min(this.#valueEnd, this.#length + Math.max(this.#maxTextBytes, MIN_VALUE_BYTES));
      this.#lastCutBytes = this.#valueEnd - 1 - MAX_MARK_BYTES;
      this.#cutBytes = this.#length;
      this.#isCopying = true;
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      this.#frames.push({
        isObject: byte === OPEN_OBJECT,
        isEmpty: true,
        endBytes: this.#valueEnd,
        endValues: this.#lastValue,
      });
      this.#place = 'first';
    } else this.#place = 'scalar';
  }

  #readClose(byte: number): void {
    if (this.#frames.length === 0 || byte !== (this.#frame().isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) this.#lose();
    else {
      this.#write(byte);
      this.#frames.pop();
      this.#endValue();
    }
  }

  #lose(): void {
    this.#place = 'lost';
    this.#length = Math.min(this.#length, this.#maxBytes - 1);
    this.#write(NO_JSON);
  }

  /** Reads a byte between texts and scalars. */
  #readBetween(byte: number): void {
    const isClose = byte === CLOSE_ARRAY || byte === CLOSE_OBJECT;
    // White space, and a byte order mark.
    if (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d && byte !== 0x0b && byte !== 0x0c)) return;
    if (this.#place === 'root' && byte >= 0x80 && this.#length < 3) this.#write(byte);
    else if (this.#place === 'after') {
      if (byte === COMMA) this.#place = 'next';
      else this.#readClose(byte);
    } else if (this.#place === 'colon') {
      if (byte === COLON) this.#place = 'value';
      else this.#lose();
    } else if (this.#place === 'first' && isClose) this.#readClose(byte);
    else if (isClose || byte === COMMA || byte === COLON) this.#lose();
    else if (this.#place === 'value' || !this.#frame().isObject) this.#readValue(byte);
    else if (byte === QUOTE) {
      this.#place = 'key';
      this.#keyBytes = 0;
      this.#text.begin();
    } else this.#lose();
  }

  #readKey(byte: number): void {
    if (this.#text.isEnd(byte)) {
      this.#place = 'colon';
      return;
    }
    if (this.#keyBytes < MAX_KEY_BYTES) this.#key[this.#keyBytes] = byte;
    this.#keyBytes++;
  }

  #readText(byte: number): void {
    if (this.#isCopying && this.#text.isBetweenCharacters(byte) && this.#length <= this.#lastCutBytes)
      this.#cutBytes = this.#length;
    if (this.#text.isEnd(byte)) {
      this.#endText();
      return;
    }
    if (!this.#isCopying) return;
    if (this.#length < this.#valueEnd - 1) this.#write(byte);
    else {
      this.#isCopying = false;
      this.#length = this.#cutBytes;
      this.#textCount++;
    }
  }

  #endText(): void {
    if (!this.#isCopying) this.#writeAll(Buffer.from(toCutMark(this.#text.byteLength)));
    this.#write(QUOTE);
    this.#endValue();
  }

  /** Returns false if the byte is the first one after the scalar. */
  #readScalar(byte: number): boolean {
    if (isScalarEnd(byte)) {
      this.#endValue();
      return false;
    }
    if (this.#length < this.#valueEnd) this.#write(byte);
    else this.#beginLeftOut(byte);
    return true;
  }

  /** Like `readScalar`, for a value that is left out. */
  #readLeftOut(byte: number): boolean {
    if (this.#isLeftOutText) {
      if (this.#text.isEnd(byte)) {
        this.#isLeftOutText = false;
        if (this.#leftOutDepth === 0) this.#place = this.#frames.length === 0 ? 'root' : 'after';
      }
      return true;
    }
    if (this.#leftOutDepth === 0) {
      if (!isScalarEnd(byte)) return true;
      this.#place = this.#frames.length === 0 ? 'root' : 'after';
      return false;
    }
    if (byte === QUOTE) {
      this.#isLeftOutText = true;
      this.#text.begin();
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.#leftOutDepth++;
    else if ((byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) && --this.#leftOutDepth === 0) this.#place = 'after';
    return true;
  }

  #read(byte: number): void {
    if (this.#place === 'text') this.#readText(byte);
    else if (this.#place === 'left-out') {
      if (!this.#readLeftOut(byte)) this.#readBetween(byte);
    } else if (this.#place === 'key') this.#readKey(byte);
    else if (this.#place === 'scalar') {
      if (!this.#readScalar(byte)) this.#readBetween(byte);
    } else if (this.#place !== 'lost') this.#readBetween(byte);
  }

  #closeTorn(): void {
    if (this.#place === 'lost') return;
    if (this.#place === 'text') {
      if (this.#isCopying) this.#textCount++;
      this.#length = this.#cutBytes;
      this.#isCopying = false;
      this.#endText();
    } else if (this.#place === 'scalar') this.#length = this.#elementStart;
    for (let open = this.#frames.pop(); open !== undefined; open = this.#frames.pop()) {
      this.#write(open.isObject ? CLOSE_OBJECT : CLOSE_ARRAY);
    }
  }
}

function isScalarEnd(byte: number): boolean {
  return byte <= 0x20 || byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || byte === QUOTE;
}
