import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collectGarbage } from '../testing/collect-garbage.ts';
import { createOldestKey, createRecentKeys } from './recent-keys.ts';

describe('recent keys', () => {
  it('remember the keys added last, including the empty one', () => {
    const keys = createRecentKeys(2);
    expect(['', 'a', '', 'b', 'b', 'a'].map(keys.add)).toEqual([true, true, false, true, false, false]);
    expect(['', 'a', 'b'].map(keys.has)).toEqual([false, true, true]);
    expect(keys.add('')).toBe(true);
    expect(['', 'a', 'b'].map(keys.has)).toEqual([true, false, true]);
  });
});

describe('oldest key', () => {
  it('is the one inserted first, whatever was deleted, moved and added in between', () => {
    const steps = fc.array(fc.record({ action: fc.constantFrom('add', 'move', 'delete', 'take'), key: fc.nat(9) }), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(steps, fc.boolean(), (actions, isPassing) => {
        const map = new Map<string, number>();
        const oldest = createOldestKey(map);
        for (const [index, { action, key }] of actions.entries()) {
          const name = String(key);
          if (action === 'take') {
            const [expected] = map.keys();
            const taken = oldest.take();
            expect(taken).toBe(expected);
            if (taken !== undefined) map.delete(taken);
          } else {
            if (action !== 'add') map.delete(name);
            if (action !== 'delete') map.set(name, index);
            if (isPassing) oldest.pass();
          }
        }
      }),
    );
  });

  it('retains no tables of the map while nothing is removed', async () => {
    const map = new Map<string, number>();
    const oldest = createOldestKey(map);
    map.set('first', 0);
    oldest.take();
    map.delete('first');
    const churn = (count: number): void => {
      for (let index = 0; index < count; index++) {
        map.set('key', index);
        oldest.pass();
        map.delete('key');
      }
    };
    churn(1000);
    await collectGarbage();
    const before = process.memoryUsage().heapUsed;
    churn(200_000);
    await collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(2_000_000);
    expect(oldest.take()).toBeUndefined();
  });
});
