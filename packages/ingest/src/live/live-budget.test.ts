import { expect, it } from 'vitest';
import { createLiveBudget } from './live-budget.ts';

it('bounds what all streams hold together, but never refuses one that is alone', () => {
  const budget = createLiveBudget(100);
  const [one, other] = [budget.open(), budget.open()];
  expect(one.hold(500)).toBe(true);
  expect(other.hold(1)).toBe(false);
  expect(one.hold(60)).toBe(true);
  expect(other.hold(40)).toBe(true);
  expect(other.hold(41)).toBe(false);
  expect(one.hold(61)).toBe(false);
  one.release();
  expect(other.hold(500)).toBe(true);
});

it('takes nothing for what it refuses, nor for a share that is released, even twice', () => {
  const budget = createLiveBudget(100);
  const [one, other, third] = [budget.open(), budget.open(), budget.open()];
  one.hold(60);
  expect(other.hold(50)).toBe(false);
  expect(one.hold(100)).toBe(true);
  one.release();
  one.release();
  expect(one.hold(60)).toBe(true);
  expect(other.hold(60)).toBe(true);
  expect(third.hold(41)).toBe(false);
  expect(third.hold(40)).toBe(true);
});

it('runs a bounded number of steps concurrently, in order, also after one fails', async () => {
  const share = createLiveBudget(100).open();
  let running = 0;
  let most = 0;
  const begun: number[] = [];
  const steps = Array.from({ length: 50 }, (_, index) =>
    share.run(async () => {
      begun.push(index);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      if (index % 3 === 0) throw new Error('failed');
    }),
  );
  const results = await Promise.allSettled(steps);
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(17);
  expect(most).toBe(8);
  expect(begun).toEqual(steps.map((_, index) => index));
});
