import { expect, it } from 'vitest';
import { chooseSettings } from './choose-settings.ts';

it.each([
  [0.5, '128MB', '64MB'],
  [4, '512MB', '128MB'],
  [64, '1024MB', '256MB'],
])('%d GB of memory', (gigabytes, shared, maintenance) => {
  expect(chooseSettings({ memoryBytes: gigabytes * 1024 ** 3, cores: 2 })).toMatchObject({
    shared_buffers: shared,
    maintenance_work_mem: maintenance,
  });
});

it.each([
  [2, '0'],
  [4, '0'],
  [16, undefined],
])('%d cores', (cores, expected) => {
  expect(chooseSettings({ memoryBytes: 1024 ** 3, cores }).max_parallel_workers_per_gather).toBe(expected);
});
