const LINE_FEED = 0x0a;

/** One line's bytes, without its `\n`. The bytes are a view that is valid until the handler returns. */
export interface RawLine {
  /** From 1, over all lines. */
  lineNumber: number;
  /** Of the first byte, from the start of the input. */
  byteOffset: number;
  byteLength: number;
  /** Absent where the line is longer than `maxLineBytes`: it was skipped without being held. */
  bytes: Buffer | undefined;
  /** False for a last line that no `\n` ends. */
  terminated: boolean;
}

export interface LineSplitter {
  /** Hands every line that the chunk completes to the handler, in order. */
  push(chunk: Uint8Array): void;
  /** Hands over the last line if no `\n` ended it. */
  finish(): void;
  readonly lineCount: number;
  readonly byteCount: number;
}

/**
 * Splits bytes at 0x0A before any decoding, so that offsets are exact and no UTF-8 character is cut. Holds at most
 * `maxLineBytes` of an unfinished line.
 */
export function createLineSplitter(maxLineBytes: number, onLine: (line: RawLine) => void): LineSplitter {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let isTooLong = false;
  let lineNumber = 0;
  let lineOffset = 0;

  const emit = (lastPart: Buffer, terminated: boolean): void => {
    const byteLength = pendingBytes + lastPart.length;
    let bytes: Buffer | undefined;
    if (!isTooLong && byteLength <= maxLineBytes) {
      bytes = pending.length === 0 ? lastPart : Buffer.concat([...pending, lastPart], byteLength);
    }
    lineNumber++;
    const byteOffset = lineOffset;
    lineOffset += byteLength + (terminated ? 1 : 0);
    pending = [];
    pendingBytes = 0;
    isTooLong = false;
    onLine({ lineNumber, byteOffset, byteLength, bytes, terminated });
  };

  const hold = (part: Buffer): void => {
    pendingBytes += part.length;
    if (isTooLong || pendingBytes > maxLineBytes) {
      isTooLong = true;
      pending = [];
      return;
    }
    // A copy: the reader may reuse the chunk, and a view would keep all of it alive for a few bytes.
    pending.push(Buffer.from(part));
    if (pending.length === MAX_PENDING_PARTS) pending = [Buffer.concat(pending)];
  };

  return {
    push(chunk) {
      const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let start = 0;
      for (let end = buffer.indexOf(LINE_FEED); end !== -1; end = buffer.indexOf(LINE_FEED, start)) {
        emit(buffer.subarray(start, end), true);
        start = end + 1;
      }
      if (start < buffer.length) hold(buffer.subarray(start));
    },
    finish() {
      if (pendingBytes > 0) emit(Buffer.alloc(0), false);
    },
    get lineCount() {
      return lineNumber;
    },
    get byteCount() {
      return lineOffset + pendingBytes;
    },
  };
}

/** Bounds the bookkeeping for a long line that arrives in tiny chunks; concatenation stays linear enough below it. */
const MAX_PENDING_PARTS = 1024;
