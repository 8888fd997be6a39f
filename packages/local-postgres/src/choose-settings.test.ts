import { expect, it } from 'vitest';
import { chooseSettings } from './choose-settings.ts';

it.each([
  [0.5, '128MB', '64MB'],
  [4, '512MB', '128MB'],
  [64, '1024MB', '256MB'],
])('%d GB of memory', (gigabytes, shared, maintenance) => {
  expect(chooseSettings(gigabytes * 1024 ** 3)).toMatchObject({
    shared_buffers: shared,
    maintenance_work_mem: maintenance,
  });
});
