import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { describeLeastRoom, type RememberedBudget, runBudgetHook } from './budget-memory.ts';

const NOW_MS = Date.parse('2026-03-10T12:00:00Z');
const MINUTE_MS = 60_000;
const REACHED: RememberedBudget = {
  ...{ name: 'everything', action: 'stop', unit: 'usd', spent: 612.4, amount: 600 },
  endsAtMs: Date.parse('2026-04-01T00:00:00Z'),
};

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-budgets-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  await mkdir(join(home, 'collector'));
  // As if figures were being read already, so that no process is started.
  const mark = join(home, 'collector/budgets.json.refreshing');
  await writeFile(mark, '');
  await utimes(mark, NOW_MS / 1000, NOW_MS / 1000);
});

const remember = (budgets: readonly RememberedBudget[], ageMs = 0): Promise<void> =>
  writeFile(join(home, 'collector/budgets.json'), JSON.stringify({ readAtMs: NOW_MS - ageMs, budgets }));

async function runHook(): Promise<string> {
  const written: string[] = [];
  const stdout = { write: (part: string) => written.push(part) > 0 };
  await runBudgetHook({ RECOUNT_DATA_DIR: home }, stdout, NOW_MS);
  return written.join('');
}

describe('the hook before a prompt', () => {
  it('stops the prompt once a budget is reached', async () => {
    await remember([REACHED]);
    expect(JSON.parse(await runHook())).toEqual({
      decision: 'block',
      reason:
        'recount: the budget everything is reached, $612.40 of $600.00. Prompts are stopped until the period ends or the budget is raised.',
    });
  });

  it('only warns if the budget is to warn of', async () => {
    await remember([{ ...REACHED, action: 'warn', unit: 'tokens', spent: 2e9, amount: 2e9 }]);
    expect(JSON.parse(await runHook())).toEqual({
      systemMessage: 'recount: the budget everything is reached, 2,000,000,000 tokens of 2,000,000,000 tokens.',
    });
  });

  it('prints nothing while no budget is reached', async () => {
    await remember([{ ...REACHED, spent: 599.99 }]);
    expect(await runHook()).toBe('');
  });

  it('lets the agent continue without figures, with damaged ones, with old ones, and after the period', async () => {
    expect(await runHook()).toBe('');
    for (const text of ['', '{', 'null', '[]', '{"readAtMs":1}', '{"readAtMs":"now","budgets":{}}']) {
      await writeFile(join(home, 'collector/budgets.json'), text);
      expect(await runHook(), text).toBe('');
    }
    const nonsense = [null, 5, [], { ...REACHED, spent: '9' }, { ...REACHED, amount: null }, { ...REACHED, name: 7 }];
    await remember([...nonsense, { ...REACHED, amount: 0 }] as RememberedBudget[]);
    expect(await runHook()).toBe('');
    await remember([REACHED], 59 * MINUTE_MS);
    expect(await runHook()).toContain('block');
    await remember([REACHED], 61 * MINUTE_MS);
    expect(await runHook()).toBe('');
    await remember([{ ...REACHED, endsAtMs: NOW_MS }]);
    expect(await runHook()).toBe('');
  });

  it('shows names without characters that control a terminal', async () => {
    await remember([{ ...REACHED, name: 'a\u001b[31mb\u202ec' }]);
    expect((JSON.parse(await runHook()) as { reason: string }).reason).toContain('budget a[31mbc is');
  });
});

describe('the budget of a status line', () => {
  it('is the one with the largest share spent', async () => {
    await remember([{ ...REACHED, name: 'small', spent: 1, amount: 10 }, REACHED]);
    expect(await describeLeastRoom({ RECOUNT_DATA_DIR: home }, NOW_MS)).toBe('everything 102%');
    await remember([]);
    expect(await describeLeastRoom({ RECOUNT_DATA_DIR: home }, NOW_MS)).toBeUndefined();
  });

  it('leaves the file as it is', async () => {
    await remember([REACHED]);
    const before = await readFile(join(home, 'collector/budgets.json'), 'utf8');
    await describeLeastRoom({ RECOUNT_DATA_DIR: home }, NOW_MS);
    expect(await readFile(join(home, 'collector/budgets.json'), 'utf8')).toBe(before);
  });
});
