import { readUsageReport } from '@recount/db';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toTranscript,
} from '../testing/test-installation.ts';
import { runTotals } from './refresh-totals.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

it('updates the totals of new data until it is stopped', async () => {
  const { database } = installation;
  const end = new AbortController();
  const onFailure = vi.fn();
  const running = runTotals({ database, onFailure }, { signal: end.signal, intervalMs: 20 });
  const countStale = async () => (await database.pool.query('SELECT FROM recount.stale_days')).rowCount;
  const readTotal = async () =>
    (await database.pool.query('SELECT sum(responses)::int AS responses FROM recount.usage_hour_total')).rows[0]
      ?.responses;
  for (const [index, name] of ['one', 'two'].entries()) {
    await installation.receive(toTranscript(name, 6));
    await installation.work();
    await vi.waitFor(async () => expect(await countStale()).toBe(0), { timeout: 60_000 });
    const filter = {
      workspaceId: TEST_WORKSPACE,
      from: null,
      to: null,
      timeZone: 'UTC',
      subagents: 'include' as const,
    };
    const { totals } = await readUsageReport(database.database, filter, { limit: 1 });
    expect(totals.sessions).toBe(index + 1);
    expect(totals.own.responses).toBeGreaterThan(0);
    expect(await readTotal()).toBe(totals.own.responses + totals.shared.responses);
  }
  end.abort();
  await running;
  expect(onFailure).not.toHaveBeenCalled();
});
