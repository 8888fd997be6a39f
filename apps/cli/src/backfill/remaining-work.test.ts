import { expect, it } from 'vitest';
import { createRemainingWork } from './remaining-work.ts';

it('claims no time while more is delivered, then one for ingestion, and one for search', () => {
  let nowMs = 0;
  const work = createRemainingWork(() => nowMs);
  const describe = (seconds: number, queued: number, unindexed: number, isDelivered = true): string => {
    nowMs = seconds * 1000;
    return work.describe({ queued, unindexed, failed: 0 }, isDelivered);
  };
  expect(describe(10, 60, 0, false)).toBe('60 being ingested');
  expect(describe(20, 80, 0, false)).toBe('80 being ingested');
  expect(describe(30, 60, 0)).toBe('60 being ingested');
  expect(describe(32, 50, 0)).toBe('50 being ingested');
  expect(describe(40, 40, 0)).toBe('40 being ingested (20 s left)');
  expect(describe(59, 0, 0)).toBe('');
  expect(describe(60, 0, 50)).toBe('50 being indexed for search');
  expect(describe(70, 0, 40)).toBe('40 being indexed for search (40 s left)');
  expect(work.describe({ queued: 0, unindexed: 40, failed: 2 }, true)).toMatch(/left\), 2 failed$/);
});
