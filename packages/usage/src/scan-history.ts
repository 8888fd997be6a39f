import { getCompileCacheDir } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { recallUsage, rememberUsage } from './remembered-usage.ts';
import type { FoundFile, StoredFile } from './file-scan.ts';
import { type ScanResult, scanFiles, scanStored } from './scan-files.ts';
import type { ScanJob } from './scan-job.ts';
import { createUsageColumns } from './usage-columns.ts';

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
/**
 * Parsed lines are garbage soon, because with a young generation of this size, few survive a collection. A larger one
 * takes more memory than the time it saves is worth.
 */
const YOUNG_GENERATION_MB = 12;

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
  const compileCache = getCompileCacheDir();
  // Longest first, so that no thread starts a long one when the others are done.
  const job: ScanJob = {
    files: files.toSorted((one, other) => other.sizeBytes - one.sizeBytes),
    counter: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
    // It contains a folder for each version of Node.
    compileCacheDirectory: compileCache && dirname(compileCache),
  };
  const taken = new Int32Array(job.counter);
  const others = Array.from({ length: Math.max(0, wanted - 1) }, () => scanInThread(job));
  const own = scanFiles(job.files, () => Atomics.add(taken, 0, 1));
  return await Promise.all([own, ...others]);
}

function scanInThread(job: ScanJob): Promise<ScanResult> {
  const worker = new Worker(new URL('./scan-worker.ts', import.meta.url), {
    workerData: job,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`A scanning thread ended with ${code} before it was done`)));
  });
}

function joinResults(results: readonly ScanResult[]): ScanResult {
  const columns = createUsageColumns();
  for (const result of results) columns.addRange(result.columns, 0, result.columns.keys.length);
  return { files: results.flatMap(({ files }) => files), columns: columns.toColumns() };
}
