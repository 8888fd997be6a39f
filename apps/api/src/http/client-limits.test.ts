import { afterEach, describe, expect, it, vi } from 'vitest';
import { RateStore, toMaxClientConnections } from './client-limits.ts';

describe('client connections', () => {
  const CONFIG = { maxClientConnections: 4096, maxConnections: 10, maxConcurrentUploads: 16 };

  it.each([
    [Number.POSITIVE_INFINITY, 4096],
    [100_000, 4096],
    [1024, 940],
    [256, 172],
    [10, 1],
  ])('leave enough of %d file descriptors for the database and the store', (maxFiles, expected) => {
    expect(toMaxClientConnections(CONFIG, maxFiles)).toBe(expected);
  });

  it('reads the limit of this process', () => {
    expect(toMaxClientConnections(CONFIG)).toBeGreaterThan(1);
  });
});

describe('rate store', () => {
  const WINDOW_MS = 60_000;
  const call = (store: RateStore, method: 'incr' | 'read', key = 'key') => {
    let answer: { current: number; ttl: number } | undefined;
    const keep = (_error: Error | null, count?: typeof answer): void => {
      answer = count;
    };
    store[method](key, keep, WINDOW_MS);
    return answer;
  };

  afterEach(() => vi.useRealTimers());

  it('counts within a window, and starts again after it', () => {
    let nowMs = 0;
    const store = new RateStore(undefined, () => nowMs);
    expect(call(store, 'read')).toEqual({ current: 0, ttl: 0 });
    expect(call(store, 'incr')).toEqual({ current: 1, ttl: WINDOW_MS });
    nowMs = 1000;
    expect(call(store, 'incr')).toEqual({ current: 2, ttl: WINDOW_MS - 1000 });
    expect(call(store, 'read')).toEqual({ current: 2, ttl: WINDOW_MS - 1000 });
    expect(call(store, 'incr', 'another')).toMatchObject({ current: 1 });
    expect(call(store.child(), 'read')).toMatchObject({ current: 0 });
    nowMs = WINDOW_MS;
    expect(call(store, 'read')).toMatchObject({ current: 0 });
    expect(call(store, 'incr')).toEqual({ current: 1, ttl: WINDOW_MS });
  });

  it('is unaffected by changes of the system clock', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2030, 0, 2) });
    const store = new RateStore();
    expect(call(store, 'incr')).toMatchObject({ current: 1 });
    for (const now of [Date.UTC(2030, 0, 1), Date.UTC(2030, 0, 3)]) {
      vi.setSystemTime(now);
      expect(call(store, 'incr')?.ttl).toBeLessThanOrEqual(WINDOW_MS);
    }
    expect(call(store, 'read')).toMatchObject({ current: 3 });
  });

  it('remembers a bounded number of keys', () => {
    const store = new RateStore();
    for (let index = 0; index <= 5000; index++) call(store, 'incr', `key ${index}`);
    expect(call(store, 'read', 'key 0')).toMatchObject({ current: 0 });
    expect(call(store, 'read', 'key 1')).toMatchObject({ current: 1 });
  });
});
