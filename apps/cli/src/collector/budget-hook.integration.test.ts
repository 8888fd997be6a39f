import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '@recount/api/testing/test-api';
import { toTranscript } from '@recount/api/testing/transcript-lines';
import { createApiKey, createBudget } from '@recount/db';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { createHome, PROGRAM, removeHome, runRecount } from '../testing/recount-process.ts';

const PATIENCE = { timeout: 120_000, interval: 100 };
const EARLIER = { model: 'opus', hooks: { UserPromptSubmit: [{ hooks: [{ type: 'command', command: 'mine' }] }] } };

let api: TestApi;
let home: string;
/** Uploads, and reads figures. */
let key: string;

beforeAll(async () => {
  api = await createTestApi();
  await api.upload(toTranscript('heron', 2));
  await api.work();
  const { database } = api.database;
  ({ key } = await createApiKey(database, {
    ...{ workspaceId: HOME_WORKSPACE, name: 'laptop', scopes: ['ingest', 'figures'] },
  }));
  for (const [name, amount] of [
    ['tiny', 1e-6],
    ['huge', 1e9],
  ] as const) {
    await createBudget(
      database,
      HOME_WORKSPACE,
      {
        ...{ name, amount, period: 'month', time_zone: 'UTC', unit: 'tokens', filters: {}, thresholds: [100] },
        ...{ forecast_percent: null, anomaly_factor: null, destination_ids: null },
      },
      'system',
    );
  }
});
beforeEach(async () => {
  home = await createHome({});
  await mkdir(join(home, '.claude'));
  await mkdir(join(home, '.codex'));
  await writeFile(join(home, '.claude/settings.json'), `${JSON.stringify(EARLIER, null, 2)}\n`);
});
afterEach(() => removeHome(home));
afterAll(() => api.close());

const connect = (...words: string[]) =>
  runRecount(home, ['connect', api.url, '--yes', ...words], { environment: { RECOUNT_API_KEY: key } });
const readSettings = async (path: string) =>
  JSON.parse(await readFile(join(home, path), 'utf8')) as { hooks: Record<string, { hooks: { command: string }[] }[]> };
const budgetsFile = (): string => join(home, '.recount/collector/budgets.json');
/** Makes the budget `tiny` count as spent, as its month may have no use. */
async function spend(share: number): Promise<void> {
  const remembered = JSON.parse(await readFile(budgetsFile(), 'utf8')) as { budgets: { amount: number }[] };
  const budgets = remembered.budgets.map((budget) => ({ ...budget, spent: budget.amount * share }));
  await writeFile(budgetsFile(), JSON.stringify({ readAtMs: Date.now(), budgets }));
}

it('is installed for Claude Code and Codex, stops prompts, and is removed without a trace', async () => {
  const connected = await connect('--stop-at-budget', 'tiny', '--warn-at-budget', 'huge');
  expect(connected, connected.stderr).toMatchObject({ exitCode: 0 });
  expect(connected.stderr).toMatch(/Budget +tiny: Claude Code and Codex answer no prompts/);
  const commands = [];
  for (const path of ['.claude/settings.json', '.codex/hooks.json']) {
    const { hooks } = await readSettings(path);
    commands.push(hooks.UserPromptSubmit?.at(-1)?.hooks[0]?.command ?? '');
  }
  const [command = '', ofCodex] = commands;
  expect([ofCodex, existsSync(command)]).toEqual([command, true]);
  await spend(1);
  const call = () => spawnSync('sh', ['-c', command], { input: '{"prompt":"hello"}', env: { HOME: home } });
  const stopped = call();
  expect([stopped.status, String(stopped.stderr)]).toEqual([0, '']);
  const answer = JSON.parse(String(stopped.stdout)) as Record<string, string>;
  expect(answer).toMatchObject({ decision: 'block', reason: expect.stringContaining('budget tiny is reached') });
  expect(String(stopped.stdout)).not.toContain(key);
  await spend(0.5);
  expect(String(call().stdout)).toBe('');
  // Connected again without budgets, only the earlier hook stays.
  expect(await connect()).toMatchObject({ exitCode: 0 });
  expect((await readSettings('.claude/settings.json')).hooks.UserPromptSubmit).toEqual(EARLIER.hooks.UserPromptSubmit);
  expect(existsSync(budgetsFile())).toBe(false);
  expect(await connect('--stop-at-budget', 'tiny')).toMatchObject({ exitCode: 0 });
  expect(await runRecount(home, ['disconnect', '--force'])).toMatchObject({ exitCode: 0 });
  expect(await readFile(join(home, '.claude/settings.json'), 'utf8')).toBe(`${JSON.stringify(EARLIER, null, 2)}\n`);
  expect(existsSync(join(home, '.codex/hooks.json'))).toBe(false);
});

it('reads old figures again in the background, and shows them in the status line', async () => {
  expect(await connect('--no-hooks', '--warn-at-budget', 'huge')).toMatchObject({ exitCode: 0 });
  const remembered = JSON.parse(await readFile(budgetsFile(), 'utf8')) as { budgets: object[] };
  const old = { readAtMs: Date.now() - 10 * 60_000, budgets: [{ ...remembered.budgets[0], spent: 5e8 }] };
  await writeFile(budgetsFile(), JSON.stringify(old));
  const showLine = () =>
    spawnSync(process.execPath, [PROGRAM, 'usage', 'statusline'], { input: '{}', env: { HOME: home } });
  expect(String(showLine().stdout)).toContain('| 📊 huge 50%');
  await expect
    .poll(async () => (JSON.parse(await readFile(budgetsFile(), 'utf8')) as typeof old).readAtMs, PATIENCE)
    .toBeGreaterThan(old.readAtMs);
  expect(String(showLine().stdout)).toContain('| 📊 huge 0%');
});

it('is refused for a budget that the server lacks, or a key that reads no figures', async () => {
  const unknown = await connect('--stop-at-budget', 'none');
  expect(unknown).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('There is no budget none') });
  const words = ['connect', api.url, '--yes', '--stop-at-budget', 'tiny'];
  const refused = await runRecount(home, words, { environment: { RECOUNT_API_KEY: api.keys.ingest } });
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('scope') });
  expect(existsSync(join(home, '.recount/collector/connection.json'))).toBe(false);
  const checked = await runRecount(home, ['budget', 'check', 'huge'], {
    environment: { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: key },
  });
  expect(checked).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('No budget is reached') });
});
