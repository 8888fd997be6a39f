import { createLineBuffer, type LongLines } from './line-buffer.ts';
import type { LineCut } from './line-cutter.ts';

const LINE_FEED = 0x0a;
const NOTHING = Buffer.alloc(0);

/** One line's bytes, without its `\n`. The bytes are a view that is valid until the handler returns. */
export interface RawLine {
  /** From 1, over all lines. */
  lineNumber: number;
  /** The beginning of the line, from the start of the input. */
  byteOffset: number;
  byteLength: number;
  /** Absent if the line is longer than `maxLineBytes` and was skipped without being held. */
  bytes: Buffer | undefined;
  /** Set if the line is longer than that and `bytes` are only the kept part. */
  cut?: LineCut;
  /** False for a last line without `\n`. */
  terminated: boolean;
  /** For an entry of a document, the name of the member that it is or belongs to; empty if it has none. */
  key?: string;
  /** Set if this part of a document is not JSON. */
  isBroken?: boolean;
}

/** The beginning of the next line. */
export interface LinePosition {
  /** Number of lines before it. */
  lineCount: number;
  byteOffset: number;
}

/** True to read the line from `start` to `end` of the bytes. Called for the lines of a chunk in order. */
export type LineFilter = (bytes: Buffer, start: number, end: number) => boolean;

export interface LineSplitter {
  /** Hands every line that the chunk completes to the handler, in order. */
  push(chunk: Uint8Array): void;
  /** Hands over the last line if it has no `\n`. */
  finish(): void;
  readonly lineCount: number;
  readonly byteCount: number;
}

/**
 * Splits bytes at 0x0A before any decoding, so that offsets are exact and no UTF-8 character is cut. Holds at most
 * `maxLineBytes` of an unfinished line. Updates `position`, which says where the input begins. Lines that `isWanted`
 * rejects are counted but not handed over.
 */
export function createLineSplitter(
  maxLineBytes: number,
  onLine: (line: RawLine) => void,
  position: LinePosition = { lineCount: 0, byteOffset: 0 },
  { isWanted, longLines = 'skip' }: { isWanted?: LineFilter | undefined; longLines?: LongLines } = {},
): LineSplitter {
  const buffer = createLineBuffer(maxLineBytes, longLines);

  const advance = (byteLength: number, terminated: boolean): number => {
    const { byteOffset } = position;
    position.lineCount++;
    position.byteOffset += byteLength + (terminated ? 1 : 0);
    return byteOffset;
  };

  const emit = (chunk: Buffer, start: number, end: number, terminated: boolean): void => {
    const byteLength = end - start;
    if (buffer.heldBytes > 0 || byteLength > maxLineBytes) {
      emitHeld(chunk.subarray(start, end), terminated);
      return;
    }
    const byteOffset = advance(byteLength, terminated);
    if (isWanted?.(chunk, start, end) === false) return;
    const bytes = chunk.subarray(start, end);
    onLine({ lineNumber: position.lineCount, byteOffset, byteLength, bytes, terminated });
  };

  const emitHeld = (lastPart: Buffer, terminated: boolean): void => {
    const line = buffer.take(lastPart);
    const byteOffset = advance(line.byteLength, terminated);
    if (line.bytes !== undefined && isWanted?.(line.bytes, 0, line.bytes.length) === false) return;
    onLine({ lineNumber: position.lineCount, byteOffset, ...line, terminated });
  };

  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let start = 0;
      for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
        emit(bytes, start, end, true);
        start = end + 1;
      }
      if (start < bytes.length) buffer.hold(bytes.subarray(start));
    },
    finish() {
      if (buffer.heldBytes > 0) emitHeld(NOTHING, false);
    },
    get lineCount() {
      return position.lineCount;
    },
    get byteCount() {
      return position.byteOffset + buffer.heldBytes;
    },
  };
}
