import { runBackfill } from '@recount/collect';
import { createDatabasePool, ensureWorkspace, migrateDatabase } from '@recount/db';
import { createDirectTarget } from '@recount/ingest';
import { createFolderRawStore } from '@recount/storage';
import { readSources } from '@recount/storage/sources';
import { holdJobs } from './drain-queue.ts';

export interface ReceivedFleet {
  workspaceIds: string[];
  transcripts: number;
  bytes: number;
}

/**
 * Fills an empty database and a raw store with the transcripts of a folder, once in each of `copies` workspaces, and
 * leaves them queued with their jobs held back, for databases that are copies of this one.
 */
export async function receiveFleet(
  connectionString: string,
  { source, rawStoreFolder, copies }: { source: string; rawStoreFolder: string; copies: number },
): Promise<ReceivedFleet> {
  await migrateDatabase(connectionString);
  const database = createDatabasePool({ connectionString });
  const rawStore = createFolderRawStore({ directory: rawStoreFolder });
  const workspaceIds = Array.from({ length: copies }, (_, copy) => `scale-${copy + 1}`);
  try {
    await database.pool.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
    for (const workspaceId of workspaceIds) {
      await ensureWorkspace(database.database, workspaceId, workspaceId);
      const target = createDirectTarget({ database, rawStore }, { workspaceId });
      const { failed } = await runBackfill({ target }, readSources([source]), { waitsForIngestion: false });
      if (failed > 0) throw new Error(`${failed} transcripts were not received`);
    }
    await holdJobs(database);
    const { rows } = await database.pool.query<Omit<ReceivedFleet, 'workspaceIds'>>(
      'SELECT count(*)::int AS transcripts, coalesce(sum(size_bytes), 0)::float8 AS bytes FROM recount.transcripts',
    );
    return { workspaceIds, transcripts: 0, bytes: 0, ...rows[0] };
  } finally {
    await database.close();
    await rawStore.close();
  }
}
