import { expect, it } from 'vitest';
import { MAX_ATTEMPTS, MAX_OUTAGES, toPauseSeconds } from './attempts.ts';

it('tries five times, twenty more in outages, after 2 seconds at first and 5 minutes at last', () => {
  const pauses = Array.from({ length: MAX_OUTAGES }, (_, index) => toPauseSeconds(index + 1, 1));
  expect(pauses.slice(0, MAX_ATTEMPTS - 1)).toEqual([2, 4, 8, 16]);
  expect(pauses.at(-1)).toBe(300);
  const minutes = pauses.reduce((sum, seconds) => sum + seconds, 0) / 60;
  expect(minutes).toBeGreaterThan(50);
  expect(minutes).toBeLessThan(75);
});

it('shortens each pause by up to a quarter', () => {
  expect(toPauseSeconds(3, 0)).toBe(6);
  expect(toPauseSeconds(3, 0.5)).toBe(7);
  expect(toPauseSeconds(0, 1)).toBe(2);
});
