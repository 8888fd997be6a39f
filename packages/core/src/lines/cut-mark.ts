/** What a mark takes at most. */
export const MAX_MARK_BYTES = 48;

/** How long a text was, behind what is left of it. */
export function toCutMark(byteLength: number): string {
  return `... [cut: ${byteLength} bytes]`;
}

const MARK = /\.\.\. \[cut: (\d{1,12}) bytes\]$/;

/** In bytes of UTF-8, of a text that was cut; undefined for one without a mark, or with one that cannot be. */
export function readUncutLength(text: string): number | undefined {
  const length = Number(MARK.exec(text.slice(-MAX_MARK_BYTES))?.[1]);
  return length > text.length - MAX_MARK_BYTES ? length : undefined;
}
