import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

async function run(...commandArguments: string[]): Promise<{ exitCode: number; out: string; err: string }> {
  const context = createFakeContext({ environment: { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.admin } });
  const exitCode = await runCommandLine(context, commandArguments);
  return { exitCode, out: context.out(), err: context.err() };
}

it('recount plan adds, changes, lists and removes plans, which a report compares with use', async () => {
  expect((await run('plan')).err).toContain('No plans');
  expect((await run('plan', 'set', 'Team')).exitCode).toBe(2);
  expect((await run('plan', 'set', 'Team', '--price', 'much')).exitCode).toBe(2);
  await run('plan', 'set', 'Team', '--price', '20');
  await run('plan', 'set', 'Team', '--price', '30', '--seats', '40');
  const max = ['Max 20x', '--person', 'ada'];
  const listed = await run('plan', 'set', ...max, '--price', '200', '--agent', 'claude-code');
  expect(listed.out).toMatch(/Team +everyone +all +\$30\.00 +40\nMax 20x +ada +claude-code +\$200\.00 +1/);
  expect(JSON.parse((await run('plan', 'list', '--json')).out)).toEqual({
    plans: [
      { name: 'Team', person: null, agent: null, monthly_usd: 30, seats: 40 },
      { name: 'Max 20x', person: 'ada', agent: 'claude-code', monthly_usd: 200, seats: 1 },
    ],
  });
  expect((await run('report', 'plans', '--server', api.url)).out).toMatch(/Team .*\$1,200\.00 +\$0\.00/);
  expect((await run('plan', 'remove', 'Max 20x')).err).toContain('There is no such plan: Max 20x.');
  expect((await run('plan', 'remove', ...max)).exitCode).toBe(0);
  expect((await run('plan', 'set', 'Pair', '--price', '1', '--person', 'ada', '--seats', '2')).err).toContain(
    'one seat',
  );
});
