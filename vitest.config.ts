import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const files = (suffix: string) => [`{packages,apps,bench,test}/**/*.${suffix}`];

export default defineConfig({
  test: {
    // Half of the time many a test waits: two at once also where there are two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        test: {
          name: 'unit',
          include: files('test.ts'),
          exclude: ['**/node_modules/**', '**/*.integration.test.ts', '**/*.e2e.test.ts'],
        },
      },
      {
        test: {
          name: 'integration',
          include: files('integration.test.ts'),
          globalSetup: ['./test/src/postgres-global-setup.ts'],
          setupFiles: ['./test/src/report-first-counterexample.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: files('e2e.test.ts'),
          testTimeout: 240_000,
          hookTimeout: 240_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
