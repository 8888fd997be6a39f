import { totalmem } from 'node:os';

const MB = 1024 * 1024;

/**
 * Server settings for the machine, for a server that shares it with recount and with whoever works there: durable as PostgreSQL's
 * defaults are. Bulk loading writes each page of the large tables and indexes several times over: with an eighth of the memory
 * it stays there between two writes, and with room for WAL it is logged as a whole less often.
 */
export function chooseSettings(memoryBytes = totalmem()): Record<string, string> {
  const sharedMb = Math.min(Math.max(Math.floor(memoryBytes / 8 / MB), 128), 1024);
  return {
    shared_buffers: `${sharedMb}MB`,
    maintenance_work_mem: `${Math.max(Math.floor(sharedMb / 4), 64)}MB`,
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    // What a backfill has written to the log is deleted at the next checkpoint, rather than kept for reuse.
    min_wal_size: '32MB',
    wal_recycle: 'off',
    // Statements are short; compiling one takes longer than running it.
    jit: 'off',
    // A new table is looked at soon: until then the planner takes it for small.
    autovacuum_naptime: '15s',
  };
}
