import { randomBytes } from 'node:crypto';
import { createDatabasePool } from '@recount/db';
import { createDatabase, dropDatabase } from '@recount/local-postgres';
import type {} from '@recount/local-postgres/testing';
import { expect, inject, it, onTestFinished } from 'vitest';
import { migrateQueue } from './migrate-queue.ts';
import { DEAD_LETTER_QUEUE, INGEST_QUEUE, ingestQueueOptions, SMALL_INGEST_QUEUE } from './queue-options.ts';

it('creates the queues once, however many call it at once, and brings changed options to them', async () => {
  const { serverUrl } = inject('postgres');
  const name = `test_${randomBytes(8).toString('hex')}`;
  const connectionString = await createDatabase(serverUrl, name);
  const { pool, close } = createDatabasePool({ connectionString });
  onTestFinished(async () => {
    await close();
    await dropDatabase(serverUrl, name);
  });
  await Promise.all(Array.from({ length: 8 }, () => migrateQueue(connectionString)));
  const readQueues = async () =>
    (
      await pool.query(
        'SELECT name, retry_limit, heartbeat_seconds, dead_letter, notify FROM pgboss.queue ORDER BY name',
      )
    ).rows;
  const ingestQueue = {
    retry_limit: ingestQueueOptions.retryLimit,
    heartbeat_seconds: ingestQueueOptions.heartbeatSeconds,
    dead_letter: DEAD_LETTER_QUEUE,
    notify: true,
  };
  const expected = [
    { name: INGEST_QUEUE, ...ingestQueue },
    { name: DEAD_LETTER_QUEUE, dead_letter: null },
    { name: SMALL_INGEST_QUEUE, ...ingestQueue },
  ];
  const names = expected.map((queue) => queue.name);
  expect((await readQueues()).filter((queue) => names.includes(queue.name))).toMatchObject(expected);
  await pool.query('UPDATE pgboss.queue SET retry_limit = 99, heartbeat_seconds = 60');
  await migrateQueue(connectionString);
  expect(await readQueues()).toMatchObject(expected);
});
