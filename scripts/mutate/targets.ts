export interface StrykerTarget {
  name: string;
  kind: 'stryker';
  /** Globs of the files that are changed; tests and test helpers are left out. */
  mutate: readonly string[];
  tests: readonly string[];
  /** Tests that take seconds each, tried only on what the others let live. */
  slowTests: readonly string[];
}

export interface SqlTarget {
  name: string;
  kind: 'sql';
  files: readonly string[];
  /** Files of the project `integration`, the ones that catch most first. */
  tests: readonly string[];
}

export type Target = StrykerTarget | SqlTarget;

const toUnitTarget = (
  name: string,
  slowTests: readonly string[] = [],
  folder = `packages/${name}/src`,
): StrykerTarget => ({
  name,
  kind: 'stryker',
  mutate: [`${folder}/**/*.ts`],
  tests: [`${folder}/**/*.test.ts`],
  slowTests,
});

export const TARGETS: readonly Target[] = [
  toUnitTarget('core', [
    '**/hostile-*.test.ts',
    '**/*.properties.test.ts',
    '**/resume.test.ts',
    '**/line-splitter.test.ts',
    '**/stream-transcript.test.ts',
    '**/active-time.test.ts',
    '**/response-window.test.ts',
  ]),
  toUnitTarget('prices'),
  toUnitTarget('redaction', [], 'packages/ingest/src/redaction'),
  toUnitTarget('contract'),
  {
    name: 'ledger',
    kind: 'sql',
    files: ['ledger-definition', 'settle-usage-ledger', 'replaced-usage', 'touched-quarters'].map(
      (file) => `packages/db/src/usage/${file}.ts`,
    ),
    tests: [
      'packages/db/src/sessions/settle-sessions.integration.test.ts',
      'packages/ingest/src/process/grown-transcript.integration.test.ts',
      'packages/ingest/src/process/grown-rollups.integration.test.ts',
      'packages/ingest/src/process/fleet-totals.integration.test.ts',
    ],
  },
  {
    name: 'queue',
    kind: 'sql',
    files: ['queues', 'job-queue'].map((file) => `packages/ingest/src/queue/${file}.ts`),
    tests: ['grant-attempt', 'find-pending', 'queues', 'job-queue'].map(
      (file) => `packages/ingest/src/queue/${file}.integration.test.ts`,
    ),
  },
  {
    name: 'reports',
    kind: 'sql',
    files: ['subagents', 'reconciliation', 'pull-requests', 'blocks', 'sessions'].map(
      (report) => `packages/db/src/reports/read-${report}-report.ts`,
    ),
    tests: ['reports', 'read-reconciliation-report', 'read-blocks-report'].map(
      (file) => `packages/db/src/reports/${file}.integration.test.ts`,
    ),
  },
];
