import { expect, it } from 'vitest';
import { toReaderMs } from './live-events.ts';

const NOW_MS = Date.UTC(2026, 10, 27);
const MINUTE_MS = 60_000;

it('ends a reader of a signed-in browser after five minutes, and any reader when its key expires', () => {
  const inMinutes = (minutes: number): string => new Date(NOW_MS + minutes * MINUTE_MS).toISOString();
  expect(toReaderMs({ expiresAt: null }, NOW_MS)).toBe(Number.POSITIVE_INFINITY);
  expect(toReaderMs({ expiresAt: inMinutes(60) }, NOW_MS)).toBe(60 * MINUTE_MS);
  expect(toReaderMs({ expiresAt: null, signInId: 's' }, NOW_MS)).toBe(5 * MINUTE_MS);
  expect(toReaderMs({ expiresAt: inMinutes(60), signInId: 's' }, NOW_MS)).toBe(5 * MINUTE_MS);
  expect(toReaderMs({ expiresAt: inMinutes(2), signInId: 's' }, NOW_MS)).toBe(2 * MINUTE_MS);
  expect(toReaderMs({ expiresAt: inMinutes(-1) }, NOW_MS)).toBe(0);
});
