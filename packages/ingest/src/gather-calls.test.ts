import { expect, it } from 'vitest';
import { gatherCalls } from './gather-calls.ts';

/** Doubles numbers; each run waits until released, and fails if it contains a number of `bad`. */
function createDoubler(maxInputs: number, bad: ReadonlySet<number> = new Set()) {
  const runs: number[][] = [];
  const mayRun: (() => void)[] = [];
  const double = gatherCalls({ maxInputs }, async (inputs: readonly number[]) => {
    runs.push([...inputs]);
    await new Promise<void>((resolve) => mayRun.push(resolve));
    const fault = inputs.find((input) => bad.has(input));
    if (fault !== undefined) throw new Error(`bad ${fault}`);
    return inputs.map((input) => input * 2);
  });
  const runAll = async (): Promise<void> => {
    for (; mayRun.length > 0; await new Promise(setImmediate)) mayRun.shift()?.();
  };
  return { double, runs, runAll };
}

it('collects calls during a run for the next one, in order and up to a bound', async () => {
  const { double, runs, runAll } = createDoubler(3);
  const results = Promise.all([1, 2, 3, 4, 5, 6].map(double));
  await runAll();
  expect(await results).toEqual([2, 4, 6, 8, 10, 12]);
  expect(runs).toEqual([[1], [2, 3, 4], [5, 6]]);
  const later = double(7);
  await runAll();
  expect(await later).toBe(14);
});

it('fails only the input at fault', async () => {
  const { double, runs, runAll } = createDoubler(10, new Set([1, 3]));
  const results = Promise.allSettled([1, 2, 3, 4].map(double));
  await runAll();
  expect(await results).toMatchObject([
    { status: 'rejected', reason: new Error('bad 1') },
    { status: 'fulfilled', value: 4 },
    { status: 'rejected', reason: new Error('bad 3') },
    { status: 'fulfilled', value: 8 },
  ]);
  expect(runs).toEqual([[1], [2, 3, 4], [2], [3], [4]]);
});

it('waits for more, if permitted', async () => {
  const runs: number[][] = [];
  const double = gatherCalls({ maxInputs: 3, delayMs: 50 }, async (inputs: readonly number[]) => {
    runs.push([...inputs]);
    return inputs.map((input) => input * 2);
  });
  const results = [double(1)];
  await new Promise(setImmediate);
  results.push(double(2));
  expect(await Promise.all(results)).toEqual([2, 4]);
  expect(runs).toEqual([[1, 2]]);
});
