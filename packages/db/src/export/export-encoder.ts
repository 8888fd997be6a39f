/** A value of a column: text of text, cost and time, number, boolean, any JSON; null where there is none. */
export type ExportValue = unknown;

/** Makes a file of rows, a batch at a time. Each row has a value for each column. */
export interface ExportEncoder {
  /** What the file begins with. */
  start(): string | Uint8Array;
  /** May hold rows back until there are enough of them. */
  encode(rows: readonly (readonly ExportValue[])[]): string | Uint8Array;
  /** What the file ends with. */
  end(): string | Uint8Array;
}
