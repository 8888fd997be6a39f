import { createDatabasePool, type DatabasePool } from '@recount/db';
import { createTestDatabase } from '@recount/local-postgres/testing';
import type { IngestJob } from '../ingest-job.ts';
import { createJobQueue, type JobQueue } from '../job-queue.ts';

export interface TestQueues {
  connectionString: string;
  pool: DatabasePool;
  /** A separate queue, as each process has; stopped with the others at the latest. */
  open(role: 'sender' | 'worker'): Promise<JobQueue>;
  enqueue(queue: JobQueue, job: IngestJob, priority?: number): Promise<void>;
  /** Jobs of all queues as pg-boss stores them, oldest first. */
  readJobs(): Promise<
    { id: string; name: string; state: string; data: IngestJob; retry_count: number; priority: number }[]
  >;
  /** Creates a queue in the same tables that is not recount's. */
  createForeignQueue(name: string): Promise<void>;
  /** Makes jobs that pause before another attempt start now. */
  endPauses(): Promise<void>;
  /** Errors that any of the queues reported. */
  errors: Error[];
  close(): Promise<void>;
}

/** A database with an empty queue. */
export async function createTestQueues(): Promise<TestQueues> {
  const { connectionString, drop } = await createTestDatabase();
  const pool = createDatabasePool({ connectionString });
  const queues: JobQueue[] = [];
  const errors: Error[] = [];
  let isDropping = false;
  return {
    connectionString,
    pool,
    errors,
    async open(role) {
      const queue = createJobQueue({ connectionString, role, onError: (error) => !isDropping && errors.push(error) });
      await queue.start();
      queues.push(queue);
      return queue;
    },
    enqueue: (queue, job, priority) =>
      pool.withTransaction((transaction) =>
        queue.enqueue(transaction, job, priority === undefined ? {} : { priority }),
      ),
    async readJobs() {
      const { rows } = await pool.pool.query(
        'SELECT id, name, state, data, retry_count, priority FROM pgboss.job ORDER BY created_on, id',
      );
      return rows;
    },
    async createForeignQueue(name) {
      await pool.pool.query('SELECT pgboss.create_queue($1, $2)', [name, { policy: 'standard' }]);
    },
    async endPauses() {
      await pool.pool.query(`UPDATE pgboss.job SET start_after = now() WHERE state IN ('created', 'retry')`);
    },
    async close() {
      for (const queue of queues) await queue.stop(1000);
      await pool.close();
      // This breaks connections that a stopped queue is still closing.
      isDropping = true;
      await drop();
    },
  };
}

export const toJob = (transcriptId: string): IngestJob => ({ workspaceId: 'workspace', transcriptId });
