import { createTestDatabase, type TestDatabase } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabasePool, type DatabasePool } from '../database/database.ts';
import { findKeyHolder, listApiKeys } from './api-keys.ts';
import { API_KEY_PATTERN, createApiKey, hashApiKey } from './create-api-key.ts';
import { ensureWorkspace, revokeApiKey } from './workspaces-and-keys.ts';

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
  it('makes a key that opens its workspace until it is revoked', async () => {
    const scopes = ['ingest', 'read'] as const;
    const { id, key } = await createApiKey(pool.database, { workspaceId, name: 'ci', scopes });
    expect(key).toMatch(API_KEY_PATTERN);
    const holder = { workspaceId, keyId: id, scopes, expiresAt: null, isExpired: false };
    expect(await findKeyHolder(pool.database, hashApiKey(key))).toEqual(holder);
    await revokeApiKey(pool.database, workspaceId, id);
    expect(await findKeyHolder(pool.database, hashApiKey(key))).toBeUndefined();
  });

  it('makes another one each time, and keeps no copy', async () => {
    const create = () => createApiKey(pool.database, { workspaceId, name: 'twice', scopes: ['read'] });
    const [first, second] = [await create(), await create()];
    expect(first.key).not.toBe(second.key);
    const { rows } = await pool.pool.query('SELECT to_jsonb(api_keys)::text AS row FROM recount.api_keys');
    for (const { row } of rows) expect(row).not.toContain(first.key.slice(3, -4));
    const stored = (await listApiKeys(pool.database, workspaceId)).find(({ id }) => id === first.id);
    expect(stored).toMatchObject({ name: 'twice', hint: first.key.slice(-4) });
  });
});
