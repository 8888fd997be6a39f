import { createDatabasePool, ensureWorkspace, readCluster, toNodeName } from '@recount/db';
import { createTestDatabase, isOnCitus } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function type(...words: string[]) {
  const environment = { DATABASE_URL: database.connectionString, RECOUNT_DATA_DIR: '/nowhere', NO_COLOR: '1' };
  const context = createFakeContext({ environment });
  const exitCode = await runCommandLine(context, ['cluster', ...words]);
  return { exitCode, out: context.out(), err: context.err() };
}

describe.skipIf(isOnCitus())('on one PostgreSQL', () => {
  it.each([
    ['status'],
    ['status', '--json'],
    ['place', 'default', 'node-1'],
    ['isolate', 'default', '--yes'],
    ['rebalance', '--yes'],
  ])('says that there are no nodes, to %s', async (...words) => {
    expect(await type(...words)).toEqual({
      exitCode: 1,
      out: '',
      err: expect.stringContaining('The database is one PostgreSQL, not spread over a Citus cluster'),
    });
  });
});

describe.runIf(isOnCitus())('on a cluster', () => {
  it('says what it would do first, and then isolates and moves a workspace', async () => {
    const pool = createDatabasePool({ connectionString: database.connectionString });
    try {
      await ensureWorkspace(pool.database, '01J00000000000000000000001', 'core');
      const readPlace = async () => (await readCluster(pool))?.workspaces[0];
      const before = await readPlace();
      const to = (await readCluster(pool))?.nodes.find(
        ({ node }) => !node.isCoordinator && node.id !== before?.node.id,
      )?.node;
      if (before === undefined || to === undefined) throw new Error('The cluster has no two nodes');
      const target = toNodeName(to);

      const { err: plan } = await type('isolate', 'core');
      expect(plan).toMatch(
        /Uploads to core wait while the shard \(.*\) is copied; reports do not\.\nNothing was changed/,
      );
      expect((await type('place', 'core', target)).err).toContain('Nothing was changed');
      expect(await readPlace()).toEqual(before);

      expect(await type('isolate', 'core', '--yes')).toMatchObject({ exitCode: 0 });
      const isolated = await readPlace();
      expect(isolated).toMatchObject({ isIsolated: true, node: before.node });
      expect(await type('place', 'core', target, '--yes', '--json')).toMatchObject({ exitCode: 0 });
      expect(await readPlace()).toMatchObject({ shardId: isolated?.shardId, node: to });
      expect(JSON.parse((await type('status', '--json')).out)).toMatchObject({
        workspaces: [{ name: 'core', node: target, is_isolated: true }],
      });
      expect((await type('place', 'core', target, '--yes')).err).toContain(`core is at ${target} already`);
    } finally {
      await pool.close();
    }
  });

  it('spreads shards over the nodes only if they are uneven', async () => {
    expect(await type('rebalance', '--json')).toMatchObject({ exitCode: 0, out: expect.stringContaining('"moves"') });
  });

  it('names a node that is away, also where Citus would plan moves', async () => {
    const pool = createDatabasePool({ connectionString: database.connectionString });
    // Nothing listens at port 1.
    await pool.pool.query('UPDATE pg_dist_node SET nodeport = 1 WHERE nodeid = (SELECT max(nodeid) FROM pg_dist_node)');
    await pool.close();
    const isAway = { exitCode: 1, out: '', err: expect.stringMatching(/The node \S+:1 does not answer .*Start it/) };
    expect(await type('rebalance')).toEqual(isAway);
    expect((await type('status')).exitCode).toBe(1);
  });
});
