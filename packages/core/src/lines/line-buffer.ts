import { type LineCut, LineCutter } from './line-cutter.ts';

/** The treatment of lines longer than `maxLineBytes` (skip them, or read them with their long texts cut). */
export type LongLines = 'skip' | 'cut';

/** Kept bytes of a line that is cut. A worker holds them as bytes, as text and as values at the same time. */
const MAX_CUT_LINE_BYTES = 32 * 1024 * 1024;
/**
 * More than a row holds of a text (256 KiB), even if every character is escaped, so rows of a cut line hold no less
 * text.
 */
const MAX_CUT_TEXT_BYTES = 2 * 1024 * 1024;

/** A line with the bytes that stayed. */
export interface HeldLine {
  byteLength: number;
  /** Absent if the line was too long. Valid until more is added. */
  bytes: Buffer | undefined;
  /** Set if the bytes are not the whole line. */
  cut?: LineCut;
}

/**
 * Assembles lines from their parts, one line at a time. Holds at most `maxLineBytes`, and of a longer line only the
 * remaining part.
 */
export function createLineBuffer(maxLineBytes: number, longLines: LongLines) {
  let held: Buffer = Buffer.alloc(0);
  let heldBytes = 0;
  let cutter: LineCutter | undefined;

  const cut = (part: Buffer, before: Buffer): void => {
    if (longLines === 'skip') return;
    if (cutter === undefined) {
      const maxBytes = Math.max(256, Math.min(maxLineBytes, MAX_CUT_LINE_BYTES));
      cutter = new LineCutter({ maxBytes, maxTextBytes: MAX_CUT_TEXT_BYTES });
      cutter.push(before);
    }
    cutter.push(part);
  };

  /** Copies, because the reader may reuse the part, and a view would keep its whole chunk alive for a few bytes. */
  const hold = (part: Buffer): void => {
    const byteLength = heldBytes + part.length;
    if (byteLength > maxLineBytes) {
      cut(part, held.subarray(0, heldBytes));
      held = Buffer.alloc(0);
    } else {
      if (byteLength > held.length) {
        const larger = Buffer.allocUnsafe(Math.min(Math.max(byteLength, 2 * held.length), maxLineBytes));
        held.copy(larger, 0, 0, heldBytes);
        held = larger;
      }
      part.copy(held, heldBytes);
    }
    heldBytes = byteLength;
  };

  return {
    hold,
    /** The line that ends with this part. */
    take(lastPart: Buffer): HeldLine {
      if (heldBytes === 0 && lastPart.length <= maxLineBytes) return { byteLength: lastPart.length, bytes: lastPart };
      hold(lastPart);
      const byteLength = heldBytes;
      heldBytes = 0;
      if (byteLength <= maxLineBytes) return { byteLength, bytes: held.subarray(0, byteLength) };
      const line = cutter?.finish();
      cutter = undefined;
      if (line === undefined) return { byteLength, bytes: undefined };
      const { bytes, textCount, elementCount } = line;
      return { byteLength, bytes, ...(textCount + elementCount > 0 && { cut: { textCount, elementCount } }) };
    },
    /** Bytes held of the unfinished line. */
    get heldBytes() {
      return heldBytes;
    },
  };
}
