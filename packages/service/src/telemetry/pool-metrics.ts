import { Gauge, type Registry } from 'prom-client';

export interface ConnectionPool {
  totalCount: number;
  idleCount: number;
  /** Queries waiting for a connection. */
  waitingCount: number;
}

/** Adds the gauge `recount_database_connections`, evaluated on each scrape. */
export function addPoolMetrics(registry: Registry, pool: ConnectionPool): void {
  new Gauge({
    name: 'recount_database_connections',
    help: 'Connections to Postgres by state, and requests that wait for one',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'used' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'waiting' }, pool.waitingCount);
    },
  });
}
