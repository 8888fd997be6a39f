/** Maximum length of a mark. */
export const MAX_MARK_BYTES = 48;

/** The mark after the rest of a cut text; it states the original length. */
export function toCutMark(byteLength: number): string {
  return `... [cut: ${byteLength} bytes]`;
}

const MARK = /\.\.\. \[cut: (\d{1,12}) bytes\]$/;

/** The original length of a cut text in bytes of UTF-8; undefined if it has no mark, or an impossible one. */
export function readUncutLength(text: string): number | undefined {
  const length = Number(MARK.exec(text.slice(-MAX_MARK_BYTES))?.[1]);
  return length > text.length - MAX_MARK_BYTES ? length : undefined;
}
