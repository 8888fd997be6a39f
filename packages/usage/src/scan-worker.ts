import { enableCompileCache } from 'node:module';
import { workerData } from 'node:worker_threads';
import type { ScanJob } from './scan-job.ts';

const { compileCacheDirectory } = workerData as ScanJob;
// Threads do not inherit the process's compile cache, and would compile everything again.
if (compileCacheDirectory !== undefined) enableCompileCache(compileCacheDirectory);
await import('./scan-job.ts');
