import { parentPort, workerData } from 'node:worker_threads';
import type { FoundFile } from './file-scan.ts';
import { scanFiles } from './scan-files.ts';

/** The work of the threads. Each takes one file after another, using a shared counter. */
export interface ScanJob {
  files: readonly FoundFile[];
  counter: SharedArrayBuffer;
  /** The process's compile cache, if it has one. */
  compileCacheDirectory: string | undefined;
}

const { files, counter } = workerData as ScanJob;
const taken = new Int32Array(counter);
const result = await scanFiles(files, () => Atomics.add(taken, 0, 1));
const { figures, names, timesMs, reportedCostsUsd, flags } = result.columns;
parentPort?.postMessage(
  result,
  [figures, names, timesMs, reportedCostsUsd, flags].map(({ buffer }) => buffer as ArrayBuffer),
);
