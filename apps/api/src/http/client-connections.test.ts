import { expect, it } from 'vitest';
import { toMaxClientConnections } from './client-connections.ts';

const CONFIG = { maxClientConnections: 4096, maxConnections: 10, maxConcurrentUploads: 16 };

it.each([
  [Number.POSITIVE_INFINITY, 4096],
  [100_000, 4096],
  [1024, 940],
  [256, 172],
  [10, 1],
])('of %d file descriptors, leaves enough for database and store', (maxFiles, expected) => {
  expect(toMaxClientConnections(CONFIG, maxFiles)).toBe(expected);
});

it('knows the limit of this process', () => {
  expect(toMaxClientConnections(CONFIG)).toBeGreaterThan(1);
});
