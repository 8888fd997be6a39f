import { availableParallelism } from 'node:os';
import type { FoundFile, StoredFile } from './file-scan.ts';
import { recallUsage, rememberUsage } from './remembered-usage.ts';
import { type ScanResult, scanFiles, scanStored } from './scan-files.ts';
import { UsageColumnsWriter } from './usage-columns.ts';

interface ScanHistoryOptions {
  /** The place where results are remembered between calls; undefined to remember nothing. */
  cacheDirectory: string | undefined;
  /** Number of scanning threads, including this one. Defaults to the number of processors, at most four. */
  threads?: number;
}

/** More threads read no faster from most disks, and each takes about 20 MB. */
const MAX_THREADS = 4;
/** Fewer bytes than this are scanned before another thread has started. */
const BYTES_PER_THREAD = 128 * 1024 * 1024;
/** The usage in all files and database sessions, remembered if unchanged, otherwise read. */
export async function scanHistory(
  found: readonly (FoundFile | StoredFile)[],
  options: ScanHistoryOptions,
): Promise<ScanResult> {
  const { cacheDirectory } = options;
  const startedAtMs = Date.now();
  const recalled = cacheDirectory === undefined ? undefined : recallUsage(cacheDirectory, found);
  if (recalled !== undefined && recalled.missing.length === 0) return recalled.known;
  const missing = recalled?.missing ?? found;
  const scanned = await scanAll(
    missing.filter((file) => !isStored(file)),
    options.threads,
  );
  const stored = await scanStored(missing.filter(isStored));
  const all = joinResults([...(recalled === undefined ? [] : [recalled.known]), ...scanned, stored]);
  if (cacheDirectory !== undefined) rememberUsage(cacheDirectory, all, missing, startedAtMs);
  return all;
}

const isStored = (file: FoundFile | StoredFile): file is StoredFile => file.version !== undefined;

async function scanAll(files: readonly FoundFile[], threads: number | undefined): Promise<ScanResult[]> {
  const totalBytes = files.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  const wanted = threads ?? Math.min(MAX_THREADS, availableParallelism(), Math.ceil(totalBytes / BYTES_PER_THREAD));
  // Longest first, so that no thread starts a long one when the others are done.
  const sorted = files.toSorted((one, other) => other.sizeBytes - one.sizeBytes);
  if (wanted > 1) return await (await import('./scan-threads.ts')).scanInThreads(sorted, wanted);
  let taken = 0;
  return [await scanFiles(sorted, () => taken++)];
}

function joinResults(results: readonly ScanResult[]): ScanResult {
  const [only, ...others] = results.filter(({ files }) => files.length > 0);
  if (only !== undefined && others.length === 0) return only;
  const columns = new UsageColumnsWriter();
  for (const result of results) columns.addRange(result.columns, 0, result.columns.keys.length);
  return { files: results.flatMap(({ files }) => files), columns: columns.toColumns() };
}
