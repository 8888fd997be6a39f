import { createCsvEncoder } from './csv-encoder.ts';
import type { ExportColumn } from './export-columns.ts';
import type { ExportEncoder } from './export-encoder.ts';
import { createNdjsonEncoder } from './ndjson-encoder.ts';
import { createParquetEncoder } from './parquet-encoder.ts';

export const EXPORT_FORMATS = ['csv', 'ndjson', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const MEDIA_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
};

const ENCODERS: Readonly<Record<ExportFormat, (columns: readonly ExportColumn[]) => ExportEncoder>> = {
  csv: createCsvEncoder,
  ndjson: createNdjsonEncoder,
  parquet: createParquetEncoder,
};

export const toMediaType = (format: ExportFormat): string => MEDIA_TYPES[format];

/** With its dot. */
export const toFileEnding = (format: ExportFormat): string => `.${format}`;

export function createEncoder(format: ExportFormat, columns: readonly ExportColumn[]): ExportEncoder {
  return ENCODERS[format](columns);
}
