import type { ExportColumn } from './export-columns.ts';

/** A column's value (a string for text, cost and time; a number; a boolean; any JSON; or null). */
export type ExportValue = unknown;

/** Encodes a file of rows, batch by batch. Each row has a value for each column. */
export interface ExportEncoder {
  /** The beginning of the file. */
  start(): string | Uint8Array;
  /** May hold rows back until there are enough of them. */
  encode(rows: readonly (readonly ExportValue[])[]): string | Uint8Array;
  /** The end of the file. */
  end(): string | Uint8Array;
}

const LINE_END = '\r\n';
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;
/** Characters where spreadsheets start a formula. */
const BEGINS_FORMULA = /^[=+\-@\t\r\n]/;

/**
 * CSV according to RFC 4180, with a header line. Null is an empty field, an empty text is `""`. Transcripts are
 * untrusted and CSV is opened in spreadsheets, so a text that could run as a formula is prefixed with an apostrophe.
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

/** A CSV file of rows. Strings are escaped as texts, other values are written unchanged. */
export function createCsvRows(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const encodeCell = (value: unknown): string => encodeValue(value, typeof value === 'string' ? 'text' : 'count');
  return [names, ...rows].map((row) => row.map(encodeCell).join(',') + LINE_END).join('');
}

/**
 * One JSON object on each line, with every column in order. Costs are numbers (the double nearest to the exact
 * decimal).
 */
export function createNdjsonEncoder(columns: readonly ExportColumn[]): ExportEncoder {
  const keys = columns.map(({ name }) => `${JSON.stringify(name)}:`);
  const encodeRow = (row: readonly ExportValue[]): string =>
    `{${columns.map(({ type }, index) => keys[index] + toNdjsonValue(row[index], type)).join(',')}}\n`;
  return { start: () => '', encode: (rows) => rows.map(encodeRow).join(''), end: () => '' };
}

const toNdjsonValue = (value: ExportValue, type: ExportColumn['type']): string =>
  JSON.stringify(type === 'cost' && value !== null ? Number(value) : (value ?? null));
