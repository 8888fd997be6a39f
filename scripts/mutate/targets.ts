export interface StrykerTarget {
  name: string;
  kind: 'stryker';
  /** Folder whose files are mutated, except tests and test helpers. */
  folder: string;
  /** True if the folder's integration tests are run too. */
  needsDatabase: boolean;
  /** File names of tests that take seconds each, run only on mutants that the others did not catch. */
  slowTests: readonly string[];
}

export interface SqlTarget {
  name: string;
  kind: 'sql';
  files: readonly SqlFile[];
}

interface SqlFile {
  file: string;
  /** Tests that reach its statements, those that catch most first. */
  tests: readonly SqlTest[];
}

/** A file of the project `integration`, or only its tests with matching names. */
export interface SqlTest {
  file: string;
  names?: RegExp;
}

export type Target = StrykerTarget | SqlTarget;

const toUnitTarget = (
  name: string,
  slowTests: readonly string[] = [],
  folder = `packages/${name}/src`,
): StrykerTarget => ({ name, kind: 'stryker', folder, needsDatabase: false, slowTests });

const toTest = (path: string): SqlTest => ({ file: `packages/${path}.integration.test.ts` });

const GROWN_ROLLUPS = ['grown-rollups', 'fleet-totals'].map((file) => toTest(`ingest/src/process/${file}`));
const LEDGER_TESTS = [
  toTest('db/src/sessions/settle-sessions'),
  toTest('ingest/src/process/grown-transcript'),
  ...GROWN_ROLLUPS,
  toTest('ingest/src/process/forged-copies'),
];

const toReport = (report: string, names: RegExp, own: readonly string[] = []): SqlFile => ({
  file: `packages/db/src/reports/read-${report}-report.ts`,
  tests: [
    ...own.map((file) => toTest(`db/src/reports/${file}`)),
    { ...toTest('db/src/reports/reports'), names },
    toTest('db/src/reports/unknown-costs'),
  ],
});

export const TARGETS: readonly Target[] = [
  toUnitTarget('core', [
    'hostile-*.test.ts',
    '*.properties.test.ts',
    'resume.test.ts',
    'line-splitter.test.ts',
    'stream-transcript.test.ts',
    'active-time.test.ts',
    'response-window.test.ts',
  ]),
  toUnitTarget('prices'),
  toUnitTarget('secrets', [], 'packages/ingest/src/secrets'),
  toUnitTarget('contract'),
  {
    name: 'process',
    kind: 'stryker',
    folder: 'packages/ingest/src/process',
    needsDatabase: true,
    slowTests: ['fleet-totals', 'forged-copies', 'grown-rollups', 'grown-transcript'].map(
      (file) => `${file}.integration.test.ts`,
    ),
  },
  {
    name: 'ledger',
    kind: 'sql',
    files: [
      ...['ledger-definition', 'settle-usage-ledger'].map((file) => ({
        file: `packages/db/src/usage/${file}.ts`,
        tests: LEDGER_TESTS,
      })),
      {
        file: 'packages/db/src/transcripts/replaced-usage.ts',
        tests: [...LEDGER_TESTS, toTest('ingest/src/maintenance/reprice-workspace')],
      },
      {
        file: 'packages/db/src/sessions/touched-rows.ts',
        tests: [...GROWN_ROLLUPS, toTest('ingest/src/process/grown-findings')],
      },
    ],
  },
  {
    name: 'queue',
    kind: 'sql',
    files: ['queues', 'job-queue'].map((file) => ({
      file: `packages/ingest/src/queue/${file}.ts`,
      tests: ['grant-attempt', 'find-pending', 'queues', 'job-queue'].map((test) => toTest(`ingest/src/queue/${test}`)),
    })),
  },
  {
    name: 'reports',
    kind: 'sql',
    files: [
      toReport('subagents', /sub-agents/),
      toReport('reconciliation', /reconciliation/, ['read-reconciliation-report']),
      toReport('pull-requests', /pull requests/),
      toReport('blocks', /blocks/, ['read-blocks-report']),
      toReport('sessions', /sessions/),
    ],
  },
];
