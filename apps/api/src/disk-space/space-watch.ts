import { resolve } from 'node:path';
import type { Readiness } from '@recount/contract';
import { isDatabaseFull } from '@recount/db';
import { type RawStore, readDiskSpace, type StoreSpace } from '@recount/storage';
import { Gauge, type Registry } from 'prom-client';
import type { SpaceConfig } from '../config.ts';
import { createDatabaseFull, createStoreFull } from '../problems/to-problem-error.ts';

/** Free and total bytes, if known. */
type Spaces = Record<keyof Readiness['space'], StoreSpace | undefined>;

/** Monitors the free space of the stores. */
export interface SpaceWatch {
  /** At most a second old. Never rejects, because values that cannot be read are unknown. */
  read(): Promise<Spaces>;
  rate(spaces: Spaces): Readiness['space'];
  /**
   * Throws ProblemError `store-full` or `database-full` if an upload of `declaredBytes` would leave less than the
   * minimum free, and for a short time after the database was full.
   */
  assertRoom(declaredBytes?: number): Promise<void>;
  /** Remembers that the database was full, if the error says so. */
  noteFailure(error: unknown): void;
}

const MAX_AGE_MS = 1000;
/**
 * While the database counts as full, one upload in this interval is admitted, because free space cannot always be
 * measured.
 */
const FULL_MS = 5000;

export function createSpaceWatch(
  { rawStore, nowMs = () => performance.now() }: { rawStore: Pick<RawStore, 'readSpace'>; nowMs?: () => number },
  { lowBytes, minFreeBytes, databaseDirectory }: SpaceConfig,
): SpaceWatch {
  let readAtMs = Number.NEGATIVE_INFINITY;
  let latest: Promise<Spaces> | undefined;
  let fullUntilMs = Number.NEGATIVE_INFINITY;

  const readAll = async (): Promise<Spaces> => {
    const [raw_store, database] = await Promise.all([
      rawStore.readSpace().catch(() => undefined),
      databaseDirectory === undefined ? undefined : readDiskSpace(resolve(databaseDirectory)).catch(() => undefined),
    ]);
    return { raw_store, database };
  };
  const read = (): Promise<Spaces> => {
    if (latest === undefined || nowMs() - readAtMs >= MAX_AGE_MS) {
      readAtMs = nowMs();
      latest = readAll();
    }
    return latest;
  };
  const rateOne = (space: StoreSpace | undefined): Readiness['space']['database'] => {
    if (space === undefined) return 'unknown';
    if (space.freeBytes < minFreeBytes) return 'full';
    return space.freeBytes < lowBytes ? 'low' : 'ok';
  };
  return {
    read,
    rate: ({ database, raw_store }) => ({ database: rateOne(database), raw_store: rateOne(raw_store) }),
    async assertRoom(declaredBytes = 0) {
      const { raw_store, database } = await read();
      if (raw_store !== undefined && raw_store.freeBytes - declaredBytes < minFreeBytes) throw createStoreFull();
      const isFull = database !== undefined && database.freeBytes < minFreeBytes;
      if (isFull || nowMs() < fullUntilMs) throw createDatabaseFull();
    },
    noteFailure(error) {
      if (isDatabaseFull(error)) fullUntilMs = nowMs() + FULL_MS;
    },
  };
}

const STORES = ['database', 'raw_store'] as const;

/** Gauges of the disks of the raw store and the database; they have no value if unknown. */
export function addSpaceGauges(registry: Registry, watch: SpaceWatch): void {
  for (const [name, help, field] of [
    ['recount_store_free_bytes', 'Bytes that may still be written to the disk of a store', 'freeBytes'],
    ['recount_store_size_bytes', 'Size of the disk of a store', 'totalBytes'],
  ] as const) {
    new Gauge({
      name,
      help: `${help}; missing if unknown`,
      labelNames: ['store'],
      registers: [registry],
      async collect() {
        this.reset();
        const spaces = await watch.read();
        for (const store of STORES) {
          const space = spaces[store];
          if (space !== undefined) this.set({ store }, space[field]);
        }
      },
    });
  }
}
