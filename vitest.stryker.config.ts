import { defineConfig } from 'vitest/config';

/** The unit tests of what stryker.config.json mutates. */
export default defineConfig({
  test: {
    include: ['packages/{prices,usage}/src/**/*.test.ts', 'packages/core/src/{agents,ledger}/**/*.test.ts'],
    exclude: ['**/*.integration.test.ts', '**/node_modules/**'],
    setupFiles: ['./test/src/wait-patiently.ts', './test/src/property-tests.ts'],
    provide: { propertyTests: { numRuns: 20, seed: 1, endOnFailure: true } },
    // A worker loads each module once for all test files.
    isolate: false,
    testTimeout: 600_000,
  },
});
