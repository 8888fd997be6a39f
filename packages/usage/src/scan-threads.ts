import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FoundFile } from './file-scan.ts';
import { type ScanResult, scanFiles } from './scan-files.ts';
import type { ScanJob } from './scan-job.ts';

/**
 * Parsed lines are garbage soon, because with a young generation of this size, few survive a collection. A larger one
 * takes more memory than the time it saves is worth.
 */
const YOUNG_GENERATION_MB = 12;

/** Scans the files in `count` threads, including this one. Each takes the next file when it is done with one. */
export async function scanInThreads(files: readonly FoundFile[], count: number): Promise<ScanResult[]> {
  const compileCache = getCompileCacheDir();
  const job: ScanJob = {
    files,
    counter: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
    // It contains a folder for each version of Node.
    compileCacheDirectory: compileCache && dirname(compileCache),
  };
  const taken = new Int32Array(job.counter);
  const others = Array.from({ length: count - 1 }, () => scanInThread(job));
  const own = scanFiles(files, () => Atomics.add(taken, 0, 1));
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
