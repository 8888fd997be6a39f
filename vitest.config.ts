import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/src/longest-first.ts';

const files = (suffix: string) => [`{packages,apps,bench,test,scripts}/**/*.${suffix}`];

/** Only for tests that hang: none comes near it, also where ten times as much goes on as the machine can do at once. */
const testTimeout = 600_000;
/** Far longer than anything takes, as in test/src/wait-patiently.ts. */
const expect = { poll: { timeout: 120_000 } };
const setupFiles = ['./test/src/wait-patiently.ts'];

const integration = {
  globalSetup: ['./test/src/postgres-global-setup.ts'],
  setupFiles: [...setupFiles, './test/src/report-first-counterexample.ts'],
  expect,
  testTimeout,
  hookTimeout: testTimeout,
};
/** They put modules of their own in the place of others, which files that share a worker would get as well. */
const replacingModules = [
  'apps/cli/src/made-up-agent.integration.test.ts',
  'packages/storage/src/folder-raw-store-syncs.integration.test.ts',
  'packages/storage/src/power-cut.integration.test.ts',
];

export default defineConfig({
  test: {
    // Tests of whole programs wait half of the time: four at once also on two cores.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          // They import much the same modules: a worker loads each once for all its files.
          pool: 'threads',
          isolate: false,
          // They wait for nothing. Projects whose numbers of workers differ run one after the other.
          maxWorkers: Math.max(2, availableParallelism() - 1),
          sequence: { groupOrder: 1 },
          setupFiles,
          expect,
          testTimeout,
          hookTimeout: testTimeout,
          include: files('test.ts'),
          exclude: ['**/node_modules/**', '**/*.integration.test.ts', '**/*.e2e.test.ts'],
        },
      },
      {
        test: {
          ...integration,
          name: 'integration',
          setupFiles: [...integration.setupFiles, './test/src/citus-statements/setup.ts'],
          // A worker loads the programs once for all its files, which took as long as a third of the tests themselves.
          isolate: false,
          unstubEnvs: true,
          include: files('integration.test.ts'),
          exclude: ['**/node_modules/**', ...replacingModules],
        },
      },
      { test: { ...integration, name: 'integration-alone', include: replacingModules } },
      {
        test: {
          name: 'e2e',
          globalSetup: ['./test/src/say-where-tests-run.ts'],
          include: files('e2e.test.ts'),
          setupFiles,
          expect,
          testTimeout,
          hookTimeout: testTimeout,
        },
      },
    ],
  },
});
