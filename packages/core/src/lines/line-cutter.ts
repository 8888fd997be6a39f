import { MAX_MARK_BYTES, toCutMark } from './cut-mark.ts';
import { createJsonText } from './json-text.ts';

/** What was cut from a line of JSON. */
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

export interface LineCutter {
  push(part: Buffer): void;
  /** To be called once. `closesTorn`: closes open texts, arrays and objects of an incomplete line. */
  finish(closesTorn?: boolean): CutLine;
}

interface LineCutterOptions {
  /** The most that is kept, which bounds memory. At least 256. */
  maxBytes: number;
  /** Texts longer than this many bytes of JSON are cut. */
  maxTextBytes: number;
  /** The most values that are kept. Default: any number. */
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
  /** Output size by which it must be closed. */
  endBytes: number;
  /** Number of values in the output that it must not exceed. */
  endValues: number;
}

/**
 * Cuts a line of JSON of any length while it streams past, so that the rest is JSON of at most `maxBytes`. Texts longer
 * than `maxTextBytes` keep their beginning, followed by a mark with their length. Usage comes last on a line and must
 * not be crowded out by what precedes it: so every value may take half of the room left in its array or object, in bytes
 * and in values, and elements with less than 64 bytes or no value left are dropped. The result depends only on the
 * bytes, not on how they are split into chunks.
 */
export function createLineCutter({
  maxBytes,
  maxTextBytes,
  maxValues = Number.POSITIVE_INFINITY,
}: LineCutterOptions): LineCutter {
  let output = Buffer.allocUnsafe(Math.min(FIRST_CAPACITY_BYTES, maxBytes));
  let length = 0;
  let textCount = 0;
  let elementCount = 0;
  let place: Place = 'root';
  const root: Frame = { isObject: false, isEmpty: true, endBytes: maxBytes, endValues: maxValues };
  const frames: Frame[] = [];
  const key = Buffer.allocUnsafe(MAX_KEY_BYTES);
  let keyBytes = 0;
  /** Offset in the output of the current element, including its comma and name. */
  let elementStart = 0;
  let valueEnd = 0;
  let valueCount = 0;
  /** Number of values that may be in the output after the current one. */
  let lastValue = 0;
  const text = createJsonText();
  /** Latest output offset at which a text may be cut, and the offset at which it would be. */
  let lastCutBytes = 0;
  let cutBytes = 0;
  let isCopying = false;
  let leftOutDepth = 0;
  let isLeftOutText = false;

  const frame = (): Frame => frames.at(-1) ?? root;

  const write = (byte: number): void => {
    if (length === output.length) {
      const larger = Buffer.allocUnsafe(Math.min(2 * length, maxBytes));
      output.copy(larger, 0, 0, length);
      output = larger;
    }
    output[length++] = byte;
  };
  const writeAll = (bytes: Buffer): void => {
    for (const byte of bytes) write(byte);
  };

  /** Writes the comma and the name before a value. Returns false if too little room is left for it. */
  const beginValue = (): boolean => {
    const { isObject, isEmpty, endBytes, endValues } = frame();
    elementStart = length;
    const valuesLeft = Math.floor((endValues - valueCount) / 2);
    const nameBytes = isObject ? keyBytes + 3 : 0;
    const hasComma = !isEmpty && frames.length > 0;
    const valueStart = length + nameBytes + (hasComma ? 1 : 0);
    const valueBytes = Math.floor((endBytes - 1 - valueStart) / 2);
    if (valueBytes < MIN_VALUE_BYTES || valuesLeft < 1 || (isObject && keyBytes > MAX_KEY_BYTES)) return false;
    if (hasComma) write(COMMA);
    if (isObject) {
      write(QUOTE);
      writeAll(key.subarray(0, keyBytes));
      write(QUOTE);
      write(COLON);
    }
    valueEnd = valueStart + valueBytes;
    lastValue = valueCount + valuesLeft;
    valueCount++;
    return true;
  };

  const endValue = (): void => {
    frame().isEmpty = false;
    place = frames.length === 0 ? 'root' : 'after';
  };

  const beginLeftOut = (byte: number): void => {
    elementCount++;
    length = elementStart;
    isLeftOutText = byte === QUOTE;
    leftOutDepth = byte === OPEN_ARRAY || byte === OPEN_OBJECT ? 1 : 0;
    text.begin();
    place = 'left-out';
  };

  const readValue = (byte: number): void => {
    if (!beginValue()) {
      beginLeftOut(byte);
      return;
    }
    write(byte);
    if (byte === QUOTE) {
      place = 'text';
      text.begin();
      valueEnd = Math.min(valueEnd, length + Math.max(maxTextBytes, MIN_VALUE_BYTES));
      lastCutBytes = valueEnd - 1 - MAX_MARK_BYTES;
      cutBytes = length;
      isCopying = true;
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      frames.push({ isObject: byte === OPEN_OBJECT, isEmpty: true, endBytes: valueEnd, endValues: lastValue });
      place = 'first';
    } else place = 'scalar';
  };

  const readClose = (byte: number): void => {
    if (frames.length === 0 || byte !== (frame().isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) lose();
    else {
      write(byte);
      frames.pop();
      endValue();
    }
  };

  const lose = (): void => {
    place = 'lost';
    length = Math.min(length, maxBytes - 1);
    write(NO_JSON);
  };

  /** Reads a byte between texts and scalars. */
  const readBetween = (byte: number): void => {
    const isClose = byte === CLOSE_ARRAY || byte === CLOSE_OBJECT;
    // White space, and a byte order mark.
    if (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d && byte !== 0x0b && byte !== 0x0c)) return;
    if (place === 'root' && byte >= 0x80 && length < 3) write(byte);
    else if (place === 'after') {
      if (byte === COMMA) place = 'next';
      else readClose(byte);
    } else if (place === 'colon') {
      if (byte === COLON) place = 'value';
      else lose();
    } else if (place === 'first' && isClose) readClose(byte);
    else if (isClose || byte === COMMA || byte === COLON) lose();
    else if (place === 'value' || !frame().isObject) readValue(byte);
    else if (byte === QUOTE) {
      place = 'key';
      keyBytes = 0;
      text.begin();
    } else lose();
  };

  const readKey = (byte: number): void => {
    if (text.isEnd(byte)) {
      place = 'colon';
      return;
    }
    if (keyBytes < MAX_KEY_BYTES) key[keyBytes] = byte;
    keyBytes++;
  };

  const readText = (byte: number): void => {
    if (isCopying && text.isBetweenCharacters(byte) && length <= lastCutBytes) cutBytes = length;
    if (text.isEnd(byte)) {
      endText();
      return;
    }
    if (!isCopying) return;
    if (length < valueEnd - 1) write(byte);
    else {
      isCopying = false;
      length = cutBytes;
      textCount++;
    }
  };

  const endText = (): void => {
    if (!isCopying) writeAll(Buffer.from(toCutMark(text.byteLength)));
    write(QUOTE);
    endValue();
  };

  /** Returns false if the byte is the first one after the scalar. */
  const readScalar = (byte: number): boolean => {
    if (isScalarEnd(byte)) {
      endValue();
      return false;
    }
    if (length < valueEnd) write(byte);
    else beginLeftOut(byte);
    return true;
  };

  /** Like `readScalar`, for a value that is left out. */
  const readLeftOut = (byte: number): boolean => {
    if (isLeftOutText) {
      if (text.isEnd(byte)) {
        isLeftOutText = false;
        if (leftOutDepth === 0) place = frames.length === 0 ? 'root' : 'after';
      }
      return true;
    }
    if (leftOutDepth === 0) {
      if (!isScalarEnd(byte)) return true;
      place = frames.length === 0 ? 'root' : 'after';
      return false;
    }
    if (byte === QUOTE) {
      isLeftOutText = true;
      text.begin();
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) leftOutDepth++;
    else if ((byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) && --leftOutDepth === 0) place = 'after';
    return true;
  };

  const read = (byte: number): void => {
    if (place === 'text') readText(byte);
    else if (place === 'left-out') {
      if (!readLeftOut(byte)) readBetween(byte);
    } else if (place === 'key') readKey(byte);
    else if (place === 'scalar') {
      if (!readScalar(byte)) readBetween(byte);
    } else if (place !== 'lost') readBetween(byte);
  };

  const closeTorn = (): void => {
    if (place === 'lost') return;
    if (place === 'text') {
      if (isCopying) textCount++;
      length = cutBytes;
      isCopying = false;
      endText();
    } else if (place === 'scalar') length = elementStart;
    for (let open = frames.pop(); open !== undefined; open = frames.pop()) {
      write(open.isObject ? CLOSE_OBJECT : CLOSE_ARRAY);
    }
  };

  return {
    push(part) {
      for (let at = 0; at < part.length; at++) {
        // Fast path for the bulk of a long line.
        if (place === 'left-out' ? isLeftOutText : place === 'text' && !isCopying) at = text.skip(part, at);
        if (at < part.length) read(part[at] ?? 0);
      }
    },
    finish(closesTorn = false) {
      if (closesTorn) closeTorn();
      return { bytes: output.subarray(0, length), textCount, elementCount };
    },
  };
}

function isScalarEnd(byte: number): boolean {
  return byte <= 0x20 || byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || byte === QUOTE;
}
