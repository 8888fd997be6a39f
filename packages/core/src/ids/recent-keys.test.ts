import { expect, it } from 'vitest';
import { createRecentKeys } from './recent-keys.ts';

it('remembers the keys added last, the empty one included', () => {
  const keys = createRecentKeys(2);
  expect(['', 'a', '', 'b', 'b', 'a'].map(keys.add)).toEqual([true, true, false, true, false, false]);
  expect(['', 'a', 'b'].map(keys.has)).toEqual([false, true, true]);
  expect(keys.add('')).toBe(true);
  expect(['', 'a', 'b'].map(keys.has)).toEqual([true, false, true]);
});
