import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { EXPORT_FORMATS } from '@recount/contract/choices';
import { type TitleSources, toSessionTitle } from '@recount/core';
import {
  type DatabasePool,
  type ExportDataset,
  type ExportRow,
  type ReportFilter,
  readInBatches,
  toExportQuery,
} from '@recount/db';
import { type ExportColumn, toExportColumns } from './export-columns.ts';
import { createCsvEncoder, createNdjsonEncoder, type ExportEncoder, type ExportValue } from './export-encoders.ts';

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const MEDIA_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
};

export const toMediaType = (format: ExportFormat): string => MEDIA_TYPES[format];

/** Includes the dot. */
export const toFileEnding = (format: ExportFormat): string => `.${format}`;

/** The Parquet library is loaded on first use. */
async function createEncoder(format: ExportFormat, columns: readonly ExportColumn[]): Promise<ExportEncoder> {
  if (format === 'csv') return createCsvEncoder(columns);
  if (format === 'ndjson') return createNdjsonEncoder(columns);
  return (await import('./parquet-encoder.ts')).createParquetEncoder(columns);
}

export interface ExportDependencies {
  database: Pick<DatabasePool, 'withTransaction'>;
}

export interface ExportRequest {
  dataset: ExportDataset;
  format: ExportFormat;
  filter: ReportFilter;
  /** Takes out of rows what their reader may not see. By default they stay whole. */
  reveal?: (rows: ExportRow[]) => Promise<ExportRow[]>;
}

/**
 * Writes all rows that pass the filter to `output`, and ends it; all are from one snapshot. Waits for slow readers, and
 * holds at most one batch (for Parquet, one row group) in memory. Nothing is written before the first rows are
 * available, so that an immediate failure leaves `output` untouched. Rejects if the signal aborts; the owner of
 * `output` must abort it when that closes. Returns the number of rows.
 */
export async function writeExport(
  { database }: ExportDependencies,
  { dataset, format, filter, reveal = async (rows) => rows }: ExportRequest,
  output: Writable,
  { signal }: { signal: AbortSignal },
): Promise<number> {
  const columns = toExportColumns(dataset);
  const encoder = await createEncoder(format, columns);
  let rowCount = 0;
  const write = async (chunk: string | Uint8Array): Promise<void> => {
    signal.throwIfAborted();
    if (chunk.length > 0 && !output.write(chunk)) await once(output, 'drain', { signal });
  };
  await readInBatches(
    database,
    toExportQuery(dataset, filter),
    async (rows) => {
      if (rowCount === 0) await write(encoder.start());
      rowCount += rows.length;
      const shown = await reveal(rows.map(toTitledRow));
      await write(encoder.encode(shown.map((row) => toValues(row, columns))));
    },
    { signal },
  );
  if (rowCount === 0) await write(encoder.start());
  await write(encoder.end());
  output.end();
  return rowCount;
}

const toTitledRow = (row: ExportRow): ExportRow =>
  'title' in row ? { ...row, title: toSessionTitle(JSON.parse(String(row.title)) as TitleSources) } : row;

function toValues(row: ExportRow, columns: readonly ExportColumn[]): ExportValue[] {
  return columns.map(({ name, type }) => {
    const value = row[name];
    if (value === null) return null;
    if (type === 'count') return Number(value);
    if (type === 'cost') return toShortDecimal(String(value));
    if (type === 'time') return new Date(String(value)).toISOString();
    return value;
  });
}

/** `1.2500000000` becomes `1.25`. */
function toShortDecimal(decimal: string): string {
  return decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal;
}
