export { toExportColumns } from './export-columns.ts';
export { createCsvRows } from './export-encoders.ts';
export { toFileEnding, toMediaType, writeExport } from './write-export.ts';
