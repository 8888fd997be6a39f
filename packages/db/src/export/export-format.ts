import { createCsvEncoder } from './csv-encoder.ts';
import type { ExportColumn } from './export-columns.ts';
import type { ExportEncoder } from './export-encoder.ts';
import { createNdjsonEncoder } from './ndjson-encoder.ts';

export const EXPORT_FORMATS = ['csv', 'ndjson', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const MEDIA_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
};

export const toMediaType = (format: ExportFormat): string => MEDIA_TYPES[format];

/** With its dot. */
export const toFileEnding = (format: ExportFormat): string => `.${format}`;

/** The library of Parquet is loaded with its first use. */
export async function createEncoder(format: ExportFormat, columns: readonly ExportColumn[]): Promise<ExportEncoder> {
  if (format === 'csv') return createCsvEncoder(columns);
  if (format === 'ndjson') return createNdjsonEncoder(columns);
  return (await import('./parquet-encoder.ts')).createParquetEncoder(columns);
}
