import { expect, it } from 'vitest';
import { grantAttempt } from './job-queue.ts';

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
