import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTextStore } from './text-store.ts';

it('gives every text back, whatever was removed meanwhile', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 50 }),
    fc.constantFrom('', 'é'.repeat(70_000), 'x'.repeat(300_000), '🎉'.repeat(40_000)),
  );
  const steps = fc.array(fc.record({ text, removed: fc.option(fc.nat(20)) }), { maxLength: 15 });
  fc.assert(
    fc.property(steps, (added) => {
      const store = createTextStore();
      const held: { place: number; text: string }[] = [];
      for (const step of added) {
        held.push({ place: store.add(step.text), text: step.text });
        const [removed] = step.removed === null ? [] : held.splice(step.removed, 1);
        if (removed !== undefined) store.remove(removed.place);
        for (const { place, text } of held) expect(store.read(place)).toBe(text);
      }
    }),
    { numRuns: 40 },
  );
});

it('gives memory back as texts leave, and tells where holes keep it from that', () => {
  const store = createTextStore();
  const text = 'x'.repeat(1000);
  const places = Array.from({ length: 20_000 }, () => store.add(text));
  expect(store.isSparse).toBe(false);
  const before = process.memoryUsage().arrayBuffers;
  for (const [index, place] of places.entries()) if (index % 1000 !== 0) store.remove(place);
  expect(store.isSparse).toBe(true);
  for (const [index, place] of places.entries()) if (index % 1000 === 0) store.remove(place);
  expect(store.isSparse).toBe(false);
  expect(before).toBeGreaterThan(20_000_000);
});
