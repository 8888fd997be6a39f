import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { createApiKey, findKeyHolder, hashApiKey, listApiKeys, rotateApiKey } from './api-keys.ts';
import { listAuditEntries } from './audit-log.ts';
import { changeWorkspaceSettings } from './workspace-settings.ts';
import { deleteWorkspaceRows, revokeApiKey } from './workspaces.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

const HOUR_MS = 3_600_000;
const list = (workspaceId = TEST_WORKSPACE) => listAuditEntries(pool.database, workspaceId, {}, { limit: 100 });
const find = (key: string) => findKeyHolder(pool.database, hashApiKey(key));
const setEnd = (column: string, id: string, end: string) =>
  pool.pool.query(`UPDATE recount.api_keys SET ${column} = now() ${end} WHERE id = $1`, [id]);

const create = (expiresAt: string | null = null) =>
  createApiKey(pool.database, {
    workspaceId: TEST_WORKSPACE,
    name: 'ci',
    scopes: ['read'],
    expiresAt,
    actor: 'operator:ada',
  });
const rotate = (id: string, graceMs: number, expiresAt?: string | null) =>
  rotateApiKey(pool.database, TEST_WORKSPACE, id, { graceMs, expiresAt, actor: 'operator:bob' });

describe('the audit log', () => {
  it('has an entry if and only if the change is committed', async () => {
    const before = await list();
    const change = pool.withTransaction(async (transaction) => {
      await changeWorkspaceSettings(transaction, TEST_WORKSPACE, { rawMaxAgeDays: 3 }, 'key:a');
      throw new Error('rolled back');
    });
    await expect(change).rejects.toThrow('rolled back');
    expect(await list()).toEqual(before);
    await changeWorkspaceSettings(pool.database, TEST_WORKSPACE, { rawMaxAgeDays: 3 }, 'key:a');
    expect((await list())[0]).toMatchObject({
      actor: 'key:a',
      action: 'settings.change',
      details: { from: { rawMaxAgeDays: null }, to: { redaction: 'off', rawMaxAgeDays: 3 } },
    });
  });

  it('records every key that is created, rotated and revoked, and no secret or hash', async () => {
    const { id, key } = await create('2999-01-01T00:00:00.000Z');
    const rotated = await rotate(id, HOUR_MS);
    await revokeApiKey(pool.database, TEST_WORKSPACE, id, 'operator:eve');
    expect(await revokeApiKey(pool.database, TEST_WORKSPACE, id, 'operator:eve')).toBe(false);
    const entries = (await list()).filter(({ subjects }) => subjects.includes(id));
    expect(entries).toMatchObject([
      { actor: 'operator:eve', action: 'key.revoke', details: {} },
      { actor: 'operator:bob', action: 'key.rotate' },
      { actor: 'operator:ada', action: 'key.create', details: { name: 'ci', scopes: ['read'] } },
    ]);
    const text = JSON.stringify(await list());
    for (const secret of [key, rotated?.key ?? '']) {
      expect(text).not.toContain(secret.slice(3));
      expect(text).not.toContain(hashApiKey(secret));
    }
  });

  it('is append-only for everyone, except when a workspace is deleted', async () => {
    await create();
    const before = await list();
    expect(before.length).toBeGreaterThan(0);
    for (const statement of [
      "UPDATE recount.audit_log SET actor = 'system'",
      'DELETE FROM recount.audit_log',
      'TRUNCATE recount.audit_log',
    ]) {
      await expect(pool.pool.query(statement), statement).rejects.toThrow('neither changed nor deleted');
    }
    const other = { workspaceId: OTHER_WORKSPACE, name: 'ci', scopes: [] };
    await createApiKey(pool.database, other);
    await pool.withTransaction((transaction) =>
      deleteWorkspaceRows(transaction, OTHER_WORKSPACE, { isFinal: true, actor: 'operator:ada' }),
    );
    expect(await list(OTHER_WORKSPACE)).toEqual([]);
    expect(await list()).toEqual(before);
    expect(await list('')).toMatchObject([{ action: 'workspace.delete', subjects: [OTHER_WORKSPACE], details: {} }]);
  });
});

describe('a key', () => {
  it('expires at its end, by the clock of the database', async () => {
    const { id, key } = await create(new Date(Date.now() + HOUR_MS).toISOString());
    expect(await find(key)).toMatchObject({ keyId: id, isExpired: false, expiresAt: expect.any(String) });
    await setEnd('expires_at', id, "- interval '1 second'");
    expect(await find(key)).toMatchObject({ keyId: id, isExpired: true });
    expect(await rotate(id, 0)).toBeUndefined();
    const renewed = await rotate(id, HOUR_MS, null);
    expect(await find(renewed?.key ?? '')).toMatchObject({ keyId: id, isExpired: false, expiresAt: null });
    // The grace period does not revive an expired key.
    expect(await find(key)).toMatchObject({ isExpired: true });
  });

  it('has a new secret after rotation, and the old one stays valid for the grace period', async () => {
    const { id, key } = await create();
    const first = await rotate(id, HOUR_MS);
    expect(Date.parse(first?.previousExpiresAt ?? '')).toBeGreaterThan(Date.now());
    for (const valid of [key, first?.key ?? ''])
      expect(await find(valid)).toMatchObject({ keyId: id, isExpired: false });
    await setEnd('previous_expires_at', id, "- interval '1 second'");
    expect(await find(key)).toMatchObject({ keyId: id, isExpired: true });
    expect(await find(first?.key ?? '')).toMatchObject({ isExpired: false });
    const second = await rotate(id, 0);
    expect(second?.previousExpiresAt).toBeNull();
    for (const old of [key, first?.key ?? '']) expect(await find(old)).toBeUndefined();
    const row = (await listApiKeys(pool.database, TEST_WORKSPACE)).find((candidate) => candidate.id === id);
    expect(row).toMatchObject({ name: 'ci', scopes: ['read'], hint: second?.key.slice(-4), expires_at: null });
    expect(JSON.stringify(row)).not.toContain('hash');
  });

  it('is not rotated if it is revoked, or another workspace’s', async () => {
    const { id, key } = await create();
    const rotation = { graceMs: 0, actor: 'system' } as const;
    expect(await rotateApiKey(pool.database, OTHER_WORKSPACE, id, rotation)).toBeUndefined();
    await rotate(id, HOUR_MS);
    await revokeApiKey(pool.database, TEST_WORKSPACE, id);
    expect(await find(key)).toBeUndefined();
    expect(await rotate(id, 0)).toBeUndefined();
  });
});
