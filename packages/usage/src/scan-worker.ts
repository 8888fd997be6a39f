import { enableCompileCache } from 'node:module';
import { workerData } from 'node:worker_threads';
import type { ScanJob } from './scan-job.ts';

const { compileCacheDirectory } = workerData as ScanJob;
// That of the process is not a thread's: it would compile all anew.
if (compileCacheDirectory !== undefined) enableCompileCache(compileCacheDirectory);
await import('./scan-job.ts');
