import { expect, it } from 'vitest';
import { grantAttempt } from './job-queue.ts';
import { ingestQueueOptions, MAX_OUTAGE_HAND_BACKS } from './queues.ts';

const ATTEMPT = { id: 'job', retryCount: 2, isShared: false };

function createDatabase(outages: number) {
  const queries: unknown[][] = [];
  return {
    queries,
    async executeSql(_text: string, values?: unknown[]) {
      queries.push(values ?? []);
      if (queries.length <= outages) throw new Error('connect ECONNREFUSED');
      return { rows: [] };
    },
  };
}

it('waits for an unavailable database', async () => {
  const database = createDatabase(2);
  await grantAttempt(database, ATTEMPT, () => false);
  expect(database.queries).toHaveLength(3);
  expect(database.queries[2]).toEqual(['ingest-transcript', 'job', 2]);
});

it('gives up if the worker is to stop', async () => {
  const database = createDatabase(Number.POSITIVE_INFINITY);
  await expect(grantAttempt(database, ATTEMPT, () => database.queries.length === 2)).rejects.toThrow('ECONNREFUSED');
  expect(database.queries).toHaveLength(2);
});

it('tries five times, twenty more in outages, after 2 seconds at first and 5 minutes at last, and misses 10 s of heartbeats', () => {
  expect(ingestQueueOptions).toMatchObject({
    retryLimit: 4,
    retryDelay: 2,
    retryBackoff: true,
    retryDelayMax: 300,
    heartbeatSeconds: 10,
  });
  expect(MAX_OUTAGE_HAND_BACKS).toBe(20);
});
