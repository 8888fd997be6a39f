import { createTestApi, HOME_WORKSPACE, type TestApi } from '@recount/api/testing/test-api';
import { toTranscript } from '@recount/api/testing/transcript-lines';
import { evaluateBudget, listBudgets } from '@recount/db';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi();
  await api.upload(toTranscript('heron', 2));
  await api.work();
});
afterAll(() => api.close());

async function run(...commandArguments: string[]): Promise<{ exitCode: number; out: string; err: string }> {
  const context = createFakeContext({ environment: { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.admin } });
  const exitCode = await runCommandLine(context, ['budget', ...commandArguments]);
  return { exitCode, out: context.out(), err: context.err() };
}

describe('recount budget', () => {
  it('makes, changes, lists and removes a budget', async () => {
    expect(await run('set', 'all')).toMatchObject({ exitCode: 2, err: expect.stringContaining('--amount') });
    const made = JSON.parse((await run('set', 'all', '--amount', '600', '--utc', '--json')).out) as object;
    expect(made).toMatchObject({
      ...{ name: 'all', amount: 600, period: 'month', unit: 'usd', time_zone: 'UTC', filters: {} },
      ...{ thresholds: [50, 80, 100], forecast_percent: 100, anomaly_factor: 3, status: { spent: 0 } },
    });
    const changed = await run('set', 'all', '--amount', '500', '--threshold', '90', '--anomaly', 'never');
    expect(changed.err).toBe('');
    expect(changed.out).toMatch(/^BUDGET +PERIOD .*\nall +month from \d{4}-\d\d-01 +\$0\.00 +\$500\.00 +0 %/);
    expect((await run('set', 'all', '--period', 'week')).err).toContain('cannot change');
    const tokens = ['set', 'tokens', '--unit', 'tokens', '--amount', '2e9', '--model', 'opus', '--period', 'day'];
    expect((await run(...tokens)).exitCode).toBe(0);
    expect((await run('set', 'tokens', '--model', 'opus', '--amount', '2e9')).exitCode).toBe(0);
    const listed = await run('list');
    expect(listed.out).toMatch(/all .*\ntokens +day from .* 2,000,000,000 /);
    expect(listed.err).toContain('tokens: No model matches "opus"');
    expect((await run('remove', 'tokens')).exitCode).toBe(2);
    expect((await run('remove', 'tokens', '--yes')).exitCode).toBe(0);
    expect((await run('remove', 'tokens', '--yes')).err).toContain('There is no budget tokens; there are all.');
  });

  it('sends the warnings of a budget to named destinations, or to all again', async () => {
    const add = createFakeContext({ environment: { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.admin } });
    await runCommandLine(add, ['alerts', 'add', 'managers', '--email', 'ada@example.org']);
    const set = async (...options: string[]) =>
      JSON.parse((await run('set', 'sent', ...options, '--json')).out) as object;
    expect(await set('--amount', '5', '--destination', 'managers')).toMatchObject({
      destination_ids: [expect.any(String)],
    });
    expect((await run('list')).out).toMatch(/sent .* 1 destination$/m);
    expect(await set('--amount', '6')).toMatchObject({ destination_ids: [expect.any(String)] });
    expect(await set('--all-destinations')).toMatchObject({ destination_ids: null });
    expect((await run('set', 'sent', '--destination', 'none')).err).toContain('There is no destination none');
    await run('remove', 'sent', '--yes');
  });

  it('shows what a budget has warned of', async () => {
    await run('set', 'small', '--amount', '1', '--unit', 'tokens', '--period', 'day', '--utc', '--anomaly', 'never');
    expect((await run('history', 'small')).err).toContain('warned of nothing');
    const { rows } = await api.database.pool.query<{ at: Date }>(
      `UPDATE recount.budgets SET created_at = (SELECT min(first_timestamp) FROM recount.sessions)
       WHERE name = 'small' RETURNING created_at AS at`,
    );
    const [budget] = (await listBudgets(api.database.database, HOME_WORKSPACE)).filter(({ name }) => name === 'small');
    if (budget === undefined) throw new Error('There is no budget');
    const nowMs = Number(rows[0]?.at) + 60_000;
    expect(await evaluateBudget(api.database, budget, nowMs)).toHaveLength(3);
    const { out } = await run('history', 'small', '--utc');
    expect(out).toMatch(/WARNING.*\n.*100 % spent .*\n.*80 % spent .*\n.*50 % spent /);
    const page = JSON.parse((await run('history', 'small', '--limit', '2', '--json')).out) as { crossings: unknown[] };
    expect(page).toMatchObject({ crossings: [{ threshold: 100 }, { threshold: 80 }], next_cursor: expect.any(String) });
    await run('remove', 'small', '--yes');
  });
});
