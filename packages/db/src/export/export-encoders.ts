import type { ExportColumn } from './export-columns.ts';

/** A value of a column: text of text, cost and time, number, boolean, any JSON; null if there is none. */
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

const LINE_END = '\r\n';
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;
/** What a spreadsheet would take for the beginning of a formula. */
const BEGINS_FORMULA = /^[=+\-@\t\r\n]/;

/**
 * CSV as RFC 4180 has it, with a header line. Null is an empty field, an empty text is `""`. Transcripts are not to be trusted,
 * and CSV is opened with spreadsheets: a text that one would run as a formula gets an apostrophe before it.
 */
export function createCsvEncoder(columns: readonly ExportColumn[]): ExportEncoder {
  const encodeRow = (row: readonly ExportValue[]): string =>
    columns.map(({ type }, index) => encodeValue(row[index], type)).join(',') + LINE_END;
  return {
    start: () => columns.map(({ name }) => name).join(',') + LINE_END,
    encode: (rows) => rows.map(encodeRow).join(''),
    end: () => '',
  };
}

function encodeValue(value: ExportValue, type: ExportColumn['type']): string {
  if (value === null || value === undefined) return '';
  if (type === 'json') return quote(JSON.stringify(value));
  const text = String(value);
  if (type !== 'text') return text;
  const safe = BEGINS_FORMULA.test(text) ? `'${text}` : text;
  return safe === '' || NEEDS_QUOTES.test(safe) ? quote(safe) : safe;
}

const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/** A CSV file of rows whose texts are texts, and whose other values are written as they are. */
export function createCsvRows(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const encodeCell = (value: unknown): string => encodeValue(value, typeof value === 'string' ? 'text' : 'count');
  return [names, ...rows].map((row) => row.map(encodeCell).join(',') + LINE_END).join('');
}

/** One JSON object a line, with every column in its order. Costs are numbers: of the exact decimal, the nearest double. */
export function createNdjsonEncoder(columns: readonly ExportColumn[]): ExportEncoder {
  const keys = columns.map(({ name }) => `${JSON.stringify(name)}:`);
  const encodeRow = (row: readonly ExportValue[]): string =>
    `{${columns.map(({ type }, index) => keys[index] + toNdjsonValue(row[index], type)).join(',')}}\n`;
  return { start: () => '', encode: (rows) => rows.map(encodeRow).join(''), end: () => '' };
}

const toNdjsonValue = (value: ExportValue, type: ExportColumn['type']): string =>
  JSON.stringify(type === 'cost' && value !== null ? Number(value) : (value ?? null));
