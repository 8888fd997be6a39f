import { Readable } from 'node:stream';
import type { MaintenanceCheck, MaintenanceCheckList, MaintenanceCheckRequest } from '@recount/contract';
import { createApiKey, startMaintenanceCheck } from '@recount/db';
import { createMaintenanceRunner } from '@recount/ingest';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, OTHER_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

let api: TestApi;
let operator: RequestInit;
const WAITING = { interval: 50 };

beforeAll(async () => {
  api = await createTestApi();
  const key = { workspaceId: HOME_WORKSPACE, name: 'operator', scopes: ['admin' as const, 'operator' as const] };
  const made = await createApiKey(api.database.database, key);
  operator = { headers: { authorization: `Bearer ${made.key}` } };
  await api.upload(toTranscript('checked', 6));
  await api.work();
});
afterAll(() => api.close());

const start = (request: MaintenanceCheckRequest, init: RequestInit = {}): Promise<Response> =>
  api.fetch('/v1/checks', {
    method: 'POST',
    body: JSON.stringify(request),
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
  });

const list = async (init: RequestInit = {}): Promise<MaintenanceCheck[]> =>
  ((await (await api.fetch('/v1/checks', init)).json()) as MaintenanceCheckList).checks;

const waitForEnd = (kind: MaintenanceCheck['kind'], scope: MaintenanceCheck['scope'], init: RequestInit = {}) =>
  vi.waitFor(async () => {
    const check = (await list(init)).find((each) => each.kind === kind && each.scope === scope);
    expect(check?.state).not.toBe('running');
    return check;
  }, WAITING);

describe('a maintenance check', () => {
  it('covers all tables for figures, and keeps its findings when another check fails', async () => {
    const started = await start({ kind: 'verify' });
    expect(started.status).toBe(202);
    expect(((await started.json()) as MaintenanceCheckList).checks).toMatchObject([{ kind: 'verify', doctor: null }]);
    const check = await waitForEnd('verify', 'workspace');
    expect(check).toMatchObject({ state: 'done', scope: 'workspace', failure_reason: null, is_fix: false });
    expect(check?.done).toBe(check?.total);
    const tables = check?.verify?.tables ?? [];
    expect(tables).toHaveLength(check?.total ?? 0);
    expect(tables.every(({ missing, surplus }) => missing + surplus === 0)).toBe(true);
    expect(tables.find(({ table }) => table === 'sessions')?.rows).toBe(1);
  });

  it('finds faults, and repairs what it can if asked to', async () => {
    const key = `workspaces/${HOME_WORKSPACE}/transcripts/01J00000000000000000000000.jsonl`;
    await api.rawStore.put(key, Readable.from([Buffer.from(toTranscript('orphan', 3))]));
    await api.database.pool.query("UPDATE recount.transcripts SET status = 'failed' WHERE session_id = 'checked'");
    await start({ kind: 'doctor' });
    const check = await waitForEnd('doctor', 'workspace');
    // It is younger than an hour, so its upload may be in progress.
    expect(check?.doctor).toMatchObject({
      findings: [{ kind: 'failed-transcript', fixed: false }],
      findingCount: 1,
      needAttention: 1,
      checked: { transcripts: 1 },
      skipped: { youngObjects: 1 },
    });
    await api.database.pool.query("UPDATE recount.transcripts SET status = 'ingested' WHERE session_id = 'checked'");
    await api.rawStore.delete(key);
    await start({ kind: 'doctor', fix: true });
    const repaired = await waitForEnd('doctor', 'workspace');
    expect(repaired).toMatchObject({ state: 'done', report_is_fix: true, doctor: { findingCount: 0 } });
  });

  it('covers one workspace, and all workspaces for an operator only', async () => {
    const other = { headers: { authorization: `Bearer ${api.keys.other}` } };
    await start({ kind: 'doctor' }, other);
    expect(await waitForEnd('doctor', 'workspace', other)).toMatchObject({ doctor: { checked: { transcripts: 0 } } });

    await expectProblem(await start({ kind: 'doctor', scope: 'installation' }), 403, 'missing-scope');
    expect((await start({ kind: 'doctor', scope: 'installation' }, operator)).status).toBe(202);
    const check = await waitForEnd('doctor', 'installation', operator);
    expect(check).toMatchObject({ state: 'done', doctor: { checked: { transcripts: 1 } } });
    expect((await list()).map(({ scope }) => scope)).not.toContain('installation');
  });

  it('is refused if it is not possible', async () => {
    await expectProblem(await start({ kind: 'verify', scope: 'installation' }, operator), 400, 'invalid-request');
    await expectProblem(await start({ kind: 'verify', fix: true }), 400, 'invalid-request');
  });
});

describe('only one check of a kind', () => {
  const run = { workspaceId: HOME_WORKSPACE, kind: 'verify' as const, runId: '01J00000000000000000000000' };
  const begun = { isFix: false, actor: 'system' as const, step: 'sessions' };

  it('runs at a time, until its process stops sending heartbeats', async () => {
    const { database, pool } = api.database;
    expect(await startMaintenanceCheck(database, run, begun)).toBe(true);
    await expectProblem(await start({ kind: 'verify' }), 409, 'check-running');
    // Earlier findings are still reported.
    const before = (await list()).find(({ kind }) => kind === 'verify');
    expect(before).toMatchObject({ state: 'running', step: 'sessions' });
    expect(before?.verify?.tables.length).toBeGreaterThan(0);

    await pool.query(
      "UPDATE recount.maintenance_checks SET seen_at = now() - interval '31 seconds' WHERE kind = 'verify'",
    );
    const silent = (await list()).find(({ kind }) => kind === 'verify');
    expect(silent).toMatchObject({ state: 'interrupted', ended_at: expect.any(String) });
    expect((await start({ kind: 'verify' })).status).toBe(202);
    expect(await waitForEnd('verify', 'workspace')).toMatchObject({ state: 'done' });
  });

  it('runs, and is interrupted when its server is stopped', async () => {
    const { database, rawStore } = api;
    const client = await database.pool.connect();
    const reasons: string[] = [];
    const deps = { database, rawStore, onFailure: (reason: string) => reasons.push(reason), now: Date.now };
    const runner = createMaintenanceRunner(deps);
    try {
      // The check waits for this.
      await client.query('BEGIN; LOCK TABLE recount.usage_ledger IN ACCESS EXCLUSIVE MODE');
      const request = { kind: 'verify' as const, workspaceId: HOME_WORKSPACE, fix: false, actor: 'system' as const };
      expect(await runner.start(request)).toBe('started');
      await vi.waitFor(async () => {
        expect((await list()).find(({ kind }) => kind === 'verify')?.step).toBe('usage_ledger');
      }, WAITING);
      await runner.close();
      expect(await runner.start(request)).toBe('busy');
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
    const check = (await list()).find(({ kind }) => kind === 'verify');
    expect(check).toMatchObject({ state: 'interrupted', failure_reason: 'Error: The server was stopped' });
    expect(reasons).toEqual([]);
  });
});

it.each(['verify', 'doctor'] as const)(
  'a %s that waits for a lock ends when its server is stopped at once',
  async (kind) => {
    const { database, rawStore } = api;
    const client = await database.pool.connect();
    const deps = { database, rawStore, onFailure: () => undefined, now: Date.now };
    const runner = createMaintenanceRunner(deps);
    try {
      await client.query('BEGIN; LOCK TABLE recount.usage_ledger, recount.transcripts IN ACCESS EXCLUSIVE MODE');
      const request = { kind, workspaceId: HOME_WORKSPACE, fix: false, actor: 'system' as const };
      expect(await runner.start(request)).toBe('started');
      await runner.close();
      const check = (await list()).find((each) => each.kind === kind);
      expect(check).toMatchObject({ state: 'interrupted', failure_reason: 'Error: The server was stopped' });
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  },
);

it('a process runs two checks concurrently, and no third', async () => {
  const { database, rawStore } = api;
  const client = await database.pool.connect();
  const deps = { database, rawStore, onFailure: () => undefined, now: Date.now };
  const runner = createMaintenanceRunner(deps);
  const request = { kind: 'verify' as const, fix: false, actor: 'system' as const };
  try {
    // The checks wait for this.
    await client.query('BEGIN; LOCK TABLE recount.usage_ledger IN ACCESS EXCLUSIVE MODE');
    expect(await runner.start({ ...request, workspaceId: HOME_WORKSPACE })).toBe('started');
    expect(await runner.start({ ...request, workspaceId: OTHER_WORKSPACE })).toBe('started');
    expect(await runner.start({ ...request, kind: 'doctor', workspaceId: HOME_WORKSPACE })).toBe('busy');
  } finally {
    await client.query('ROLLBACK');
    client.release();
    await runner.close();
  }
});
