export { createCsvRows } from './csv-encoder.ts';
export type { ExportColumn, ExportColumnType } from './export-columns.ts';
export { type ExportFormat, toFileEnding, toMediaType } from './export-format.ts';
export { type ExportDependencies, type ExportRequest, writeExport } from './write-export.ts';
