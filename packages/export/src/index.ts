export { createCsvRows } from './csv-encoder.ts';
export { COST_DECIMALS, type ExportColumn, type ExportColumnType, toExportColumns } from './export-columns.ts';
export { EXPORT_FORMATS, type ExportFormat, toFileEnding, toMediaType } from './export-format.ts';
export { type ExportDependencies, type ExportRequest, writeExport } from './write-export.ts';
