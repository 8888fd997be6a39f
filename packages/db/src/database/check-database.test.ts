import { expect, it } from 'vitest';
import { describeUnreadShards } from './check-database.ts';

/** Answers as a server with these many distributed tables; without Citus if undefined. */
function toPool(tables: number | undefined) {
  const query = async (statement: string) => {
    if (statement.includes('pg_extension')) return { rows: tables === undefined ? [] : [{}] };
    if (tables === undefined) throw new Error('relation "pg_dist_partition" does not exist');
    return { rows: [{ tables }] };
  };
  return { pool: { query } } as unknown as Parameters<typeof describeUnreadShards>[0];
}

it('names the shards of a cluster as not read', async () => {
  expect(await describeUnreadShards(toPool(37))).toMatch(/the rows of 37 tables are in shards .* were not read/);
});

it('says nothing about a server without shards', async () => {
  expect(await describeUnreadShards(toPool(undefined))).toBeUndefined();
  expect(await describeUnreadShards(toPool(0))).toBeUndefined();
});
