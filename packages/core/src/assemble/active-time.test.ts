import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createActiveTime, createActiveTimeState, MAX_ACTIVE_GAP_MS } from './active-time.ts';

function toExpected(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  const gaps = sorted.map((time, index) => time - (sorted[index - 1] ?? time));
  return gaps.reduce((sum, gap) => (gap <= MAX_ACTIVE_GAP_MS ? sum + gap : sum), 0);
}

const minutes = (count: number): number => count * 60_000;

describe('the active time', () => {
  it('contains a pause of five minutes, and none that is longer', () => {
    const active = createActiveTime(createActiveTimeState());
    for (const timeMs of [0, minutes(5), minutes(10) + 1, minutes(11) + 1]) active.add(timeMs);
    expect(active.toActiveMs()).toBe(minutes(6));
  });

  it('covers all times in order, in whatever order they arrive, and wherever the state is resumed', () => {
    const message = fc.record({
      /** Minutes since the message before, mostly positive. */
      step: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 7 }) }, fc.integer({ min: -40, max: 0 })),
      /** A later line moves one of the latest messages back by this many minutes. */
      moved: fc.option(fc.record({ age: fc.nat(20), back: fc.nat(9) }), { freq: 4 }),
      isTakenUp: fc.boolean(),
    });
    let exactCount = 0;
    fc.assert(
      fc.property(fc.array(message, { minLength: 600, maxLength: 1500 }), (messages) => {
        let state = createActiveTimeState();
        let active = createActiveTime(state);
        const times: number[] = [];
        let now = minutes(1e7);
        for (const { step, moved, isTakenUp } of messages) {
          now += minutes(step);
          times.push(now);
          active.add(now);
          const index = times.length - 1 - (moved?.age ?? times.length);
          const from = times[index];
          if (moved !== null && from !== undefined) {
            times[index] = from - minutes(moved.back);
            active.move(from, from - minutes(moved.back));
          }
          if (!isTakenUp) continue;
          state = structuredClone(state);
          active = createActiveTime(state);
        }
        const activeMs = active.toActiveMs();
        if (activeMs === null) return;
        exactCount++;
        expect(activeMs).toBe(toExpected(times));
      }),
    );
    expect(exactCount).toBeGreaterThan(0);
  });

  it('includes a message whose time arrives later', () => {
    const active = createActiveTime();
    active.add(minutes(1));
    active.move(undefined, minutes(2));
    active.add(minutes(8));
    expect(active.toActiveMs()).toBe(minutes(1));
  });

  it('is unknown if a message is earlier than what has been summed up', () => {
    const active = createActiveTime();
    for (let index = 0; index < 2000; index++) active.add(minutes(100 + index));
    expect(active.toActiveMs()).toBe(minutes(1999));
    active.add(minutes(1));
    expect(active.toActiveMs()).toBeNull();
  });

  it('is unknown if a message moves whose time has been summed up', () => {
    const active = createActiveTime();
    for (let index = 0; index < 2000; index++) active.add(minutes(100 + index));
    active.move(minutes(200), minutes(199));
    expect(active.toActiveMs()).toBeNull();
  });
});
