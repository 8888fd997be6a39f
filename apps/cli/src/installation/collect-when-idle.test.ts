import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { collectWhenIdle } from './collect-when-idle.ts';

const INTERVAL_MS = 15_000;
let cpuMs: number;
let collections: number;

beforeEach(() => {
  vi.useFakeTimers();
  cpuMs = 3000;
  collections = 0;
  const collect = (): void => {
    collections += 1;
    cpuMs += 400;
  };
  collectWhenIdle({ intervalMs: INTERVAL_MS, readCpuMs: () => cpuMs, collect });
});
afterEach(() => void vi.useRealTimers());

const pass = (workMs: number): void => {
  cpuMs += workMs;
  vi.advanceTimersByTime(INTERVAL_MS);
};

it('collects once after the start, and once after work, when it is over', () => {
  pass(9000);
  expect(collections).toBe(0);
  pass(0);
  pass(100);
  expect(collections).toBe(1);
  pass(5000);
  expect(collections).toBe(1);
  pass(0);
  pass(0);
  expect(collections).toBe(2);
});

it('collects what many looks for work leave, and nothing while there is always some', () => {
  pass(0);
  for (let count = 0; count < 8; count += 1) pass(100);
  expect(collections).toBe(1);
  pass(100);
  pass(100);
  expect(collections).toBe(2);
  for (let count = 0; count < 100; count += 1) pass(500);
  expect(collections).toBe(2);
});
