import { runBackfill } from '@recount/collect';
import { createDatabasePool, ensureWorkspace } from '@recount/db';
import { createDirectTarget } from '@recount/ingest';
import { createFolderRawStore } from '@recount/storage';
import { readSources } from '@recount/storage/sources';

// Backfills a path into a workspace as `recount up` does, beside its worker, and measures until all is ingested.
const [connectionString = '', directory = '', workspaceId = '', path = ''] = process.argv.slice(2);
const database = createDatabasePool({ connectionString });
const rawStore = createFolderRawStore({ directory });
await ensureWorkspace(database.database, workspaceId, workspaceId);
const startedAtMs = performance.now();
const target = createDirectTarget({ database, rawStore }, { workspaceId });
let milliseconds = 0;
const onEvent = ({ kind }: { kind: string }): void => {
  if (kind === 'outcome') milliseconds = performance.now() - startedAtMs;
};
const report = await runBackfill({ target, onEvent }, readSources([path]));
if (report.failed > 0 || report.found === 0) throw new Error(`${report.failed} of ${report.found} failed`);
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
const cpuSeconds = (userCPUTime + systemCPUTime) / 1e6;
console.log(JSON.stringify({ milliseconds, peakRssBytes: maxRSS * 1024, bytes: report.readBytes, cpuSeconds }));
await database.close();
