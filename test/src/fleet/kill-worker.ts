import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { expect, vi } from 'vitest';

const CLI = fileURLToPath(new URL('../../../apps/cli/bin/recount.mjs', import.meta.url));
const PATIENCE = { timeout: 300_000, interval: 20 };

/**
 * Lets the process of a worker ingest what waits, and kills it in the middle of a transcript. Resolves when the server has
 * ended its transactions. At least this transcript then waits.
 */
export async function killWorkerInTheMiddle(environment: {
  DATABASE_URL: string;
  RECOUNT_RAW_STORE: string;
}): Promise<void> {
  const holder = new pg.Client({ connectionString: environment.DATABASE_URL });
  // A transaction sees the activity as it was at its first look.
  const client = new pg.Client({ connectionString: environment.DATABASE_URL });
  await Promise.all([holder.connect(), client.connect()]);
  const count = async (condition: string): Promise<number> =>
    (
      await client.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'recount worker' AND ${condition}`,
      )
    ).rowCount ?? 0;
  const worker = spawn(process.execPath, [CLI, 'worker'], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: 'ignore',
  });
  const ended = once(worker, 'exit');
  try {
    // The worker waits for this transcript after it has taken its job.
    await holder.query(`BEGIN; SELECT FROM recount.transcripts WHERE id = (
      SELECT transcript_id FROM recount.ingest_jobs ORDER BY created_at, transcript_id
      OFFSET (SELECT count(*) / 2 FROM recount.ingest_jobs) LIMIT 1) FOR UPDATE`);
    await vi.waitFor(async () => expect(await count(`wait_event_type = 'Lock'`)).toBeGreaterThan(0), PATIENCE);
  } finally {
    worker.kill('SIGKILL');
  }
  expect(await ended).toEqual([null, 'SIGKILL']);
  await holder.end();
  await vi.waitFor(async () => expect(await count('true')).toBe(0), PATIENCE);
  expect((await client.query('SELECT FROM recount.ingest_jobs')).rowCount).toBeGreaterThan(0);
  await client.end();
}
