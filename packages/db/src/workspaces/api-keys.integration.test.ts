import { createTestDatabase, type TestDatabase } from '@recount/local-postgres/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabasePool, type DatabasePool } from '../database/database.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import {
  API_KEY_PATTERN,
  createApiKey,
  findKeyHolder,
  findWorkspaceByName,
  hashApiKey,
  listApiKeys,
  rotateApiKey,
} from './api-keys.ts';
import { ensureWorkspace, holdApiKey, insertApiKey, revokeApiKey, touchApiKey } from './workspaces.ts';

const POLICY = { textReaders: 'readers', namesFromPeople: null, pseudonymSalt: null };

describe('api keys', () => {
  let pool: Awaited<ReturnType<typeof createTestPool>>;
  beforeEach(async () => {
    pool = await createTestPool();
    const key = { workspaceId: TEST_WORKSPACE, name: 'ci', hint: 'abcd' };
    await insertApiKey(pool.database, { ...key, id: 'k2', keyHash: 'hash-2', scopes: ['ingest', 'read'] });
    await insertApiKey(pool.database, { ...key, id: 'k1', keyHash: 'hash-1', scopes: ['admin'] });
    await insertApiKey(pool.database, { ...key, id: 'k1', keyHash: 'other', scopes: [], workspaceId: OTHER_WORKSPACE });
  });
  afterEach(() => pool.close());

  const list = () => listApiKeys(pool.database, TEST_WORKSPACE);

  it('finds the owner of a key by its hash alone', async () => {
    expect(await findKeyHolder(pool.database, 'hash-2')).toEqual({
      workspaceId: TEST_WORKSPACE,
      keyId: 'k2',
      scopes: ['ingest', 'read'],
      person: null,
      expiresAt: null,
      isExpired: false,
      isDemo: false,
      policy: POLICY,
    });
    expect(await findKeyHolder(pool.database, 'other')).toMatchObject({
      workspaceId: OTHER_WORKSPACE,
      keyId: 'k1',
      scopes: [],
    });
    expect(await findKeyHolder(pool.database, 'unknown')).toBeUndefined();
  });

  it('lists the keys of a workspace without their hashes', async () => {
    const keys = await list();
    expect(keys.map(({ id }) => id)).toEqual(['k1', 'k2']);
    expect(keys[0]).toMatchObject({
      name: 'ci',
      hint: 'abcd',
      scopes: ['admin'],
      last_used_at: null,
      revoked_at: null,
    });
    expect(JSON.stringify(keys)).not.toContain('hash');
  });

  it('records the last use of a key at most once a minute', async () => {
    const readLastUse = async () => (await list()).find(({ id }) => id === 'k1')?.last_used_at ?? null;
    await touchApiKey(pool.database, TEST_WORKSPACE, 'k1');
    const first = await readLastUse();
    expect(Math.abs(Date.now() - Date.parse(first ?? ''))).toBeLessThan(60_000);
    await touchApiKey(pool.database, TEST_WORKSPACE, 'k1');
    expect(await readLastUse()).toBe(first);
    const minuteAgo = new Date(Date.parse(first ?? '') - 61_000);
    await pool.pool.query('UPDATE recount.api_keys SET last_used_at = $1 WHERE last_used_at IS NOT NULL', [minuteAgo]);
    await touchApiKey(pool.database, TEST_WORKSPACE, 'k1');
    expect(Date.parse((await readLastUse()) ?? '')).toBeGreaterThanOrEqual(Date.parse(first ?? ''));
    expect((await listApiKeys(pool.database, OTHER_WORKSPACE))[0]?.last_used_at).toBeNull();
  });

  it('gives the former secret of a key no longer life than the key had, nor than its grace', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const rotate = (id: string, graceMs: number) =>
      rotateApiKey(pool.database, TEST_WORKSPACE, id, {
        graceMs,
        expiresAt: '2999-01-01T00:00:00.000Z',
        actor: 'system',
      });
    const key = { workspaceId: TEST_WORKSPACE, name: 'rotated', scopes: ['read'] as const, expiresAt };
    const [one, other] = [await createApiKey(pool.database, key), await createApiKey(pool.database, key)];
    expect(await rotate(one.id, 7_200_000)).toMatchObject({ previousExpiresAt: expiresAt });
    const { previousExpiresAt } = (await rotate(other.id, 60_000)) ?? {};
    expect(Date.parse(previousExpiresAt ?? '')).toBeLessThan(Date.parse(expiresAt));
  });

  it('revokes a key of the workspace, once', async () => {
    expect(await revokeApiKey(pool.database, OTHER_WORKSPACE, 'k2')).toBe(false);
    expect(await findKeyHolder(pool.database, 'hash-2')).toBeDefined();
    expect(await revokeApiKey(pool.database, TEST_WORKSPACE, 'k2')).toBe(true);
    expect(await findKeyHolder(pool.database, 'hash-2')).toBeUndefined();
    expect(await revokeApiKey(pool.database, TEST_WORKSPACE, 'k2')).toBe(false);
    expect((await list()).map(({ revoked_at }) => revoked_at !== null)).toEqual([false, true]);
  });

  it('is held by one change at a time, so that two that revoke it do not wait for each other', async () => {
    const countWaiting = async (): Promise<number> => {
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return (await pool.pool.query(waiting)).rowCount ?? 0;
    };
    let holders = 0;
    const revoke = () =>
      pool.withTransaction(async (transaction) => {
        if (!(await holdApiKey(transaction, TEST_WORKSPACE, 'k1'))) return false;
        holders += 1;
        await expect.poll(async () => holders + (await countWaiting())).toBeGreaterThanOrEqual(2);
        return await revokeApiKey(transaction, TEST_WORKSPACE, 'k1');
      });
    expect((await Promise.all([revoke(), revoke()])).sort()).toEqual([false, true]);
  });

  it('creates a workspace once, however many requests ask for it concurrently', async () => {
    const workspaces = await Promise.all(
      Array.from({ length: 20 }, (_, index) => ensureWorkspace(pool.database, `new-${index}`, 'team')),
    );
    expect(new Set(workspaces.map(({ id }) => id)).size).toBe(1);
    expect(await findWorkspaceByName(pool.database, 'team')).toEqual(workspaces[0]);
    expect(await findWorkspaceByName(pool.database, 'nobody')).toBeUndefined();
  });
});

describe('create api key', () => {
  const workspaceId = '01J00000000000000000000001';

  let testDatabase: TestDatabase;
  let pool: DatabasePool;

  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    pool = createDatabasePool({ connectionString: testDatabase.connectionString });
    await ensureWorkspace(pool.database, workspaceId, 'test');
  });
  afterAll(async () => {
    await pool.close();
    await testDatabase.drop();
  });

  describe('createApiKey', () => {
    it('creates a key that opens its workspace until it is revoked', async () => {
      const scopes = ['ingest', 'read'] as const;
      const { id, key } = await createApiKey(pool.database, { workspaceId, name: 'ci', scopes });
      expect(key).toMatch(API_KEY_PATTERN);
      const holder = {
        workspaceId,
        keyId: id,
        scopes,
        person: null,
        expiresAt: null,
        isExpired: false,
        isDemo: false,
        policy: POLICY,
      };
      expect(await findKeyHolder(pool.database, hashApiKey(key))).toEqual(holder);
      await revokeApiKey(pool.database, workspaceId, id);
      expect(await findKeyHolder(pool.database, hashApiKey(key))).toBeUndefined();
    });

    it('creates a different one each time, and keeps no copy', async () => {
      const create = () => createApiKey(pool.database, { workspaceId, name: 'twice', scopes: ['read'] });
      const [first, second] = [await create(), await create()];
      expect(first.key).not.toBe(second.key);
      const { rows } = await pool.pool.query('SELECT to_jsonb(api_keys)::text AS row FROM recount.api_keys');
      for (const { row } of rows) expect(row).not.toContain(first.key.slice(3, -4));
      const stored = (await listApiKeys(pool.database, workspaceId)).find(({ id }) => id === first.id);
      expect(stored).toMatchObject({ name: 'twice', hint: first.key.slice(-4) });
    });
  });
});
