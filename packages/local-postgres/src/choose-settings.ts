import { availableParallelism, totalmem } from 'node:os';

const MB = 1024 * 1024;
/** With more cores, some are idle while a report is read. */
const FEW_CORES = 4;

interface Machine {
  memoryBytes: number;
  cores: number;
}

/**
 * Server settings for a machine that also runs recount and is used for other work; as durable as PostgreSQL's defaults.
 * Bulk loading writes each page of the large tables and indexes several times. With an eighth of the memory pages stay
 * cached between writes, and with enough WAL fewer full pages are logged.
 */
export function chooseSettings(
  { memoryBytes, cores }: Machine = { memoryBytes: totalmem(), cores: availableParallelism() },
): Record<string, string> {
  const sharedMb = Math.min(Math.max(Math.floor(memoryBytes / 8 / MB), 128), 1024);
  return {
    shared_buffers: `${sharedMb}MB`,
    maintenance_work_mem: `${Math.max(Math.floor(sharedMb / 4), 64)}MB`,
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    // WAL of a backfill is deleted at the next checkpoint instead of being kept for reuse.
    min_wal_size: '32MB',
    wal_recycle: 'off',
    // Statements are short; JIT-compiling one takes longer than running it.
    jit: 'off',
    // New tables are analyzed soon. Until then the planner assumes that they are small.
    autovacuum_naptime: '15s',
    // On two cores, a report that several processes read took up to twice the processor time and no less of the clock; three
    // and four were not measured.
    ...(cores <= FEW_CORES && { max_parallel_workers_per_gather: '0' }),
  };
}
