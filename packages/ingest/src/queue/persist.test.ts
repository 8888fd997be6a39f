import { expect, it } from 'vitest';
import { persist } from './persist.ts';

/** A write that fails that many times. */
function createWrite(outages: number) {
  const calls = { count: 0 };
  const write = async () => {
    calls.count += 1;
    if (calls.count <= outages) throw new Error('connect ECONNREFUSED');
    return 'written';
  };
  return { calls, write };
}

it('waits for an unavailable database', async () => {
  const { calls, write } = createWrite(2);
  expect(await persist(write, () => false)).toBe('written');
  expect(calls.count).toBe(3);
});

it('gives up if the worker is to stop', async () => {
  const { calls, write } = createWrite(Number.POSITIVE_INFINITY);
  await expect(persist(write, () => calls.count === 2)).rejects.toThrow('ECONNREFUSED');
  expect(calls.count).toBe(2);
});
