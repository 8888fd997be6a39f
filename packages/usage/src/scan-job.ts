import { parentPort, workerData } from 'node:worker_threads';
import { type FoundFile, scanFiles } from './scan-files.ts';

/** What a thread works on: it takes one file after another, by a counter that all threads share. */
export interface ScanJob {
  files: readonly FoundFile[];
  counter: SharedArrayBuffer;
  /** Where the process keeps compiled code, if it does. */
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
