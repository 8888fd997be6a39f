import type { ExportColumn } from './export-columns.ts';
import type { ExportEncoder, ExportValue } from './export-encoder.ts';

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
