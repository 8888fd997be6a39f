export { type LedgerRow, type LocalLedger, type SharedCopy, settleLedger } from './local-ledger.ts';
export type { FoundFile, ScannedFile, StoredFile } from './file-scan.ts';
export type { ScanResult } from './scan-files.ts';
export { scanHistory } from './scan-history.ts';
export { BLOCK_MS, listBlocks, type UsageBlock } from './usage-blocks.ts';
export { addUp } from './usage-figures.ts';
export { reportUsage, USAGE_KEYS, type UsageFilter, type UsageKey, type UsageReport } from './usage-report.ts';
