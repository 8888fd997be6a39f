import { Gauge, type Registry } from 'prom-client';

export interface ConnectionPool {
  totalCount: number;
  idleCount: number;
  /** Queries that wait for a connection. */
  waitingCount: number;
}

/** Adds the gauge `recount_database_connections`, read when it is asked for. */
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
