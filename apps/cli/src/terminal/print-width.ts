/** Where the lines go to a file or a program, they may be as long as the content wants. */
const UNLIMITED_WIDTH = 10_000;

/** Columns that a table may have. */
export function toPrintWidth(stream: NodeJS.WriteStream): number {
  return stream.isTTY ? stream.columns : UNLIMITED_WIDTH;
}
