import { Gauge, type Registry } from 'prom-client';
import type { SpaceWatch } from './space-watch.ts';

const STORES = ['database', 'raw_store'] as const;

/** Gauges of the disks that raw store and database lie on; they have no value where that is not known. */
export function addSpaceGauges(registry: Registry, watch: SpaceWatch): void {
  for (const [name, help, field] of [
    ['recount_store_free_bytes', 'Bytes that may still be written to the disk of a store', 'freeBytes'],
    ['recount_store_size_bytes', 'Size of the disk of a store', 'totalBytes'],
  ] as const) {
    new Gauge({
      name,
      help: `${help}; missing where that cannot be known`,
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
