import { createDatabasePool, ensureWorkspace } from '@recount/db';
import { createDirectTarget, handleGroup, handleJob, runBackfill } from '@recount/ingest';
import { createJobQueue } from '@recount/ingest/queue';
import { createFolderRawStore } from '@recount/storage';
import { readSources } from '@recount/storage/sources';
import { reportMeasurement } from './child.ts';

/** As a worker's setting is by default. */
const CONCURRENCY = 2;
const MAX_LINE_BYTES = 64 * 1024 * 1024;

// Backfills a path into a workspace of its own, with a worker in the same process, until all is ingested.
const [connectionString = '', directory = '', path = '', workspaceId = ''] = process.argv.slice(2);
const database = createDatabasePool({ connectionString });
const rawStore = createFolderRawStore({ directory });
const onError = (error: Error): void => console.error(error.message);
const queue = createJobQueue({ connectionString, role: 'worker', onError });
await ensureWorkspace(database.database, workspaceId, workspaceId);
await queue.start();
const deps = { database, rawStore, onReport: () => undefined };
await queue.work({ concurrency: CONCURRENCY }, (job) => handleJob(deps, job, { maxLineBytes: MAX_LINE_BYTES }));
await queue.workSmall({ concurrency: 1 }, (jobs) => handleGroup(deps, jobs, { maxLineBytes: MAX_LINE_BYTES }));
await reportMeasurement(1, async () => {
  const target = createDirectTarget({ database, rawStore, queue }, { workspaceId });
  const report = await runBackfill({ target }, readSources([path]));
  if (report.failed > 0 || report.found === 0) throw new Error(`${report.failed} of ${report.found} failed`);
});
await queue.stop(1000);
await database.close();
