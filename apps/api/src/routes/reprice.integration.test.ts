import type { AuditList, Reprice } from '@recount/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

const PATH = '/v1/prices/reprice';
const toInit = (method: string, key: string, body?: unknown): RequestInit => ({
  method,
  headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
  ...(body !== undefined && { body: JSON.stringify(body) }),
});
const start = (body: unknown, key = api.keys.admin) => api.fetch(PATH, toInit('POST', key, body));
const cancel = (key = api.keys.admin) => api.fetch(PATH, toInit('DELETE', key));
const read = async (key = api.keys.read) => (await (await api.fetch(PATH, toInit('GET', key))).json()) as Reprice;

describe('/v1/prices/reprice', () => {
  it('queues one run at a time for the key’s workspace, which can be cancelled, and records both', async () => {
    expect(await read()).toEqual({ run: null });
    await expectProblem(await cancel(), 404, 'not-found');
    const started = await start({ models: ['glm-5.2', 'house-*'] });
    expect(started.status).toBe(202);
    const { run } = (await started.json()) as Reprice;
    expect(run).toMatchObject({ state: 'queued', models: ['glm-5.2', 'house-*'], done: 0, total: null, before: null });
    await expectProblem(await start({}), 409, 'check-running');
    expect(await read(api.keys.other)).toEqual({ run: null });
    await expectProblem(await cancel(api.keys.other), 404, 'not-found');
    const cancelled = (await (await cancel()).json()) as Reprice;
    expect(cancelled.run).toMatchObject({ state: 'cancelled', actor: run?.actor, ended_at: expect.any(String) });
    const { entries } = (await (await api.fetch('/v1/audit?action=usage.reprice')).json()) as AuditList;
    expect(entries.map(({ details }) => details)).toEqual([
      { cancelled_after_transcripts: 0 },
      { models: ['glm-5.2', 'house-*'] },
    ]);
    // No check: these are other routes.
    expect(await (await api.fetch('/v1/checks')).json()).toEqual({ checks: [] });
  });

  it.each([{ models: [''] }, { models: 'glm' }, { model: 'glm' }, { models: Array.from({ length: 201 }, () => 'x') }])(
    'refuses %j',
    async (body) => {
      await expectProblem(await start(body), 400, 'invalid-request');
    },
  );
});
