import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.ts';
import { chooseSeed, DAY_SEED, readStage, selectFiles } from './scripts/stages.ts';

const stage = readStage(process.env);
/** Of property tests, and of the order of shuffled tests. */
const seed = Number(process.env.RECOUNT_TEST_SEED ?? (stage === 'night' ? chooseSeed() : DAY_SEED));

/** Only for tests that hang: none comes near it, also under ten times the load that the machine can take. */
const testTimeout = stage === 'night' ? 7_200_000 : 1_200_000;

const common = {
  setupFiles: ['./test/src/wait-patiently.ts', './test/src/property-tests.ts'],
  /** Far longer than anything takes, as in test/src/wait-patiently.ts. */
  expect: { poll: { timeout: 120_000 } },
  testTimeout,
  hookTimeout: testTimeout,
};

/** A run of a property test: microseconds to milliseconds. */
const pure = { numRuns: stage === 'night' ? 10_000 : stage === 'quick' ? 20 : 100, seed, endOnFailure: false };
/** A run of a property test: up to seconds in the database. */
const withDatabase = { numRuns: stage === 'night' ? 200 : 5, seed, endOnFailure: true };

const integration = {
  ...common,
  globalSetup: ['./test/src/postgres-global-setup.ts'],
  provide: { propertyTests: withDatabase },
};
/** They put separate modules in the place of others, which files that share a worker would get as well. */
const replacingModules = [
  'apps/cli/src/made-up-agent.integration.test.ts',
  'packages/storage/src/folder-raw-store-syncs.integration.test.ts',
  'packages/storage/src/power-cut.integration.test.ts',
];

/** The files of a project in the stage that is run. */
function files(suffix: string, except: string[] = []) {
  const { include, exclude } = selectFiles(suffix, stage);
  return { include, exclude: ['**/node_modules/**', ...exclude, ...except] };
}

export default defineConfig({
  test: {
    // Tests of whole programs wait half of the time: four together, also on two cores.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    sequence: { sequencer: LongestFirst, seed },
    projects: [
      {
        test: {
          ...common,
          name: 'unit',
          // They import much the same modules: a worker loads each once for all its files.
          pool: 'threads',
          isolate: false,
          provide: { propertyTests: pure },
          ...files('.test.ts', ['**/*.integration.test.ts', '**/*.e2e.test.ts']),
        },
      },
      {
        test: {
          ...integration,
          name: 'integration',
          globalSetup: [...integration.globalSetup, './test/src/dashboard/browser-global-setup.ts'],
          setupFiles: [...common.setupFiles, './test/src/citus-statements/setup.ts'],
          // A worker loads the programs once for all its files, which took as long as a third of the tests themselves.
          isolate: false,
          unstubEnvs: true,
          ...files('.integration.test.ts', replacingModules),
        },
      },
      {
        test: { ...integration, name: 'integration-alone', include: stage === 'rest' ? [] : replacingModules },
      },
      {
        test: {
          ...common,
          name: 'e2e',
          globalSetup: [...integration.globalSetup, './test/src/say-where-tests-run.ts'],
          provide: { propertyTests: withDatabase },
          ...files('.e2e.test.ts'),
        },
      },
    ],
  },
});
