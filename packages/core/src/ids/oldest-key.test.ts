import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createOldestKey } from './oldest-key.ts';

it('gives what was inserted first, whatever was deleted, moved and added meanwhile', () => {
  const steps = fc.array(fc.record({ action: fc.constantFrom('add', 'move', 'delete', 'take'), key: fc.nat(9) }), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(steps, (actions) => {
      const map = new Map<string, number>();
      const oldestKey = createOldestKey(map);
      for (const [index, { action, key }] of actions.entries()) {
        const name = String(key);
        if (action === 'take') {
          const [expected] = map.keys();
          const taken = oldestKey();
          expect(taken).toBe(expected);
          if (taken !== undefined) map.delete(taken);
        } else {
          if (action !== 'add') map.delete(name);
          if (action !== 'delete') map.set(name, index);
        }
      }
    }),
  );
});
