import type { ExportColumn } from './export-columns.ts';
import type { ExportEncoder, ExportValue } from './export-encoder.ts';

/** One JSON object a line, with every column in its order. Costs are numbers: of the exact decimal, the nearest double. */
export function createNdjsonEncoder(columns: readonly ExportColumn[]): ExportEncoder {
  const keys = columns.map(({ name }) => `${JSON.stringify(name)}:`);
  const encodeRow = (row: readonly ExportValue[]): string =>
    `{${columns.map(({ type }, index) => keys[index] + encodeValue(row[index], type)).join(',')}}\n`;
  return { start: () => '', encode: (rows) => rows.map(encodeRow).join(''), end: () => '' };
}

const encodeValue = (value: ExportValue, type: ExportColumn['type']): string =>
  JSON.stringify(type === 'cost' && value !== null ? Number(value) : (value ?? null));
