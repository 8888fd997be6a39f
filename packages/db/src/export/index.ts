export type { ExportColumn, ExportColumnType } from './export-columns.ts';
export { createCsvRows } from './export-encoders.ts';
export {
  type ExportDependencies,
  type ExportFormat,
  type ExportRequest,
  toFileEnding,
  toMediaType,
  writeExport,
} from './write-export.ts';
