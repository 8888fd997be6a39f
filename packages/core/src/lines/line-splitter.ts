const LINE_FEED = 0x0a;
const NOTHING = Buffer.alloc(0);

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
  /** Of an entry of a document: the name of the member that it is or stands in, empty if it has none. */
  key?: string;
  /** Of a document: what stands here is no JSON. */
  isBroken?: boolean;
}

/** Where the next line begins. */
export interface LinePosition {
  /** Lines before it. */
  lineCount: number;
  byteOffset: number;
}

/** Whether the line from `start` to `end` of the bytes is to be read. Asked for the lines of a chunk in their order. */
export type LineFilter = (bytes: Buffer, start: number, end: number) => boolean;

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
 * `maxLineBytes` of an unfinished line. Keeps `position`, where the input begins, up to date. Lines that `isWanted` refuses
 * are counted, but not handed over.
 */
export function createLineSplitter(
  maxLineBytes: number,
  onLine: (line: RawLine) => void,
  position: LinePosition = { lineCount: 0, byteOffset: 0 },
  isWanted?: LineFilter,
): LineSplitter {
  let held = NOTHING;
  /** Of the unfinished line; its bytes are in `held` unless they are more than `maxLineBytes`. */
  let heldBytes = 0;

  /** A copy: the reader may reuse the chunk, and a view would keep all of it alive for a few bytes. */
  const hold = (part: Buffer): void => {
    const byteLength = heldBytes + part.length;
    if (byteLength > maxLineBytes) held = NOTHING;
    else {
      if (byteLength > held.length) {
        const larger = Buffer.allocUnsafe(Math.min(Math.max(byteLength, 2 * held.length), maxLineBytes));
        held.copy(larger, 0, 0, heldBytes);
        held = larger;
      }
      part.copy(held, heldBytes);
    }
    heldBytes = byteLength;
  };

  const emit = (chunk: Buffer, start: number, end: number, terminated: boolean): void => {
    const isWhole = heldBytes === 0;
    if (!isWhole) hold(chunk.subarray(start, end));
    const byteLength = isWhole ? end - start : heldBytes;
    const lineNumber = ++position.lineCount;
    const { byteOffset } = position;
    position.byteOffset += byteLength + (terminated ? 1 : 0);
    heldBytes = 0;
    const pieced = isWhole ? undefined : held.subarray(0, byteLength);
    const isRefused = pieced ? isWanted?.(pieced, 0, pieced.length) === false : isWanted?.(chunk, start, end) === false;
    if (isRefused) return;
    const bytes = pieced ?? chunk.subarray(start, end);
    onLine({ lineNumber, byteOffset, byteLength, bytes: byteLength > maxLineBytes ? undefined : bytes, terminated });
  };

  return {
    push(chunk) {
      const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let start = 0;
      for (let end = buffer.indexOf(LINE_FEED); end !== -1; end = buffer.indexOf(LINE_FEED, start)) {
        emit(buffer, start, end, true);
        start = end + 1;
      }
      if (start < buffer.length) hold(buffer.subarray(start));
    },
    finish() {
      if (heldBytes > 0) emit(NOTHING, 0, 0, false);
    },
    get lineCount() {
      return position.lineCount;
    },
    get byteCount() {
      return position.byteOffset + heldBytes;
    },
  };
}
