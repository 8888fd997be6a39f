export { type LedgerRow, type LocalLedger, type SharedCopy, settleLedger } from './local-ledger.ts';
export type { FoundFile, ScannedFile, StoredFile } from './file-scan.ts';
export { scanHistory } from './scan-history.ts';
export { listBlocks, type UsageBlock } from './usage-blocks.ts';
export { addUp } from './usage-figures.ts';
export { reportUsage, type UsageFilter, type UsageKey, type UsageReport } from './usage-report.ts';
