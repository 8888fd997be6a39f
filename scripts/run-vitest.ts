import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import type { CheckDeps, CheckResult } from './check-result.ts';
import { commandOf, type Stage } from './stages.ts';

export type Kind = 'unit' | 'integration' | 'e2e';

/** Which tests to run, and how. */
export interface TestRun {
  kinds: readonly Kind[];
  stage?: Stage | undefined;
  /** Folders, tests, and source files whose tests are beside them; all if empty. */
  paths?: readonly string[];
  /** Only tests that import what has changed since this commit, or since the last one if it is empty. */
  changedSince?: string | undefined;
  isShuffled?: boolean;
  seed: number;
}

/** The fields read from the report of vitest's `json` reporter. */
interface VitestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    startTime: number;
    endTime: number;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

/** Of the time of all files of `npm test`. */
const MAX_SHARE = 0.03;
const maxFailureLength = 1_500;

/** The message and the stack frames in our own code. */
function shortenMessage(message: string): string {
  const lines = message.split('\n').filter((line) => !line.includes('/node_modules/'));
  return lines.join('\n').slice(0, maxFailureLength);
}

function listFailures(report: VitestReport, root: string): string[] {
  return report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name);
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (failed.length === 0) return status === 'failed' ? [`${file}\n${shortenMessage(message)}`] : [];
    return failed.map(
      ({ fullName, failureMessages }) => `${file} > ${fullName}\n${shortenMessage(failureMessages.join('\n'))}`,
    );
  });
}

/** Files that have become too slow for `npm test` since its list was written, by a measure that no busy machine changes. */
function listUnlistedSlow(report: VitestReport, root: string): string[] {
  const files = report.testResults.map(({ name, startTime, endTime }) => ({
    file: relative(root, name),
    durationMs: endTime - startTime,
  }));
  const fast = files.filter(({ file }) => commandOf(file) === 'npm test');
  const sumMs = fast.reduce((sum, { durationMs }) => sum + durationMs, 0);
  return fast.flatMap(({ file, durationMs }) =>
    durationMs > MAX_SHARE * sumMs
      ? [`${file} takes ${Math.round((100 * durationMs) / sumMs)} % of npm test: speed it up, or see scripts/stages.ts`]
      : [],
  );
}

const toResult = (report: VitestReport, root: string, isWhole: boolean): CheckResult => ({
  passed: report.numPassedTests,
  failed: report.numFailedTests,
  skipped: report.numPendingTests + report.numTodoTests,
  failures: listFailures(report, root),
  notes: isWhole ? listUnlistedSlow(report, root) : [],
});

/** The kinds without an executed test. */
function listUnexecuted(report: VitestReport, kinds: readonly Kind[]): Kind[] {
  const executed = report.testResults.filter(({ assertionResults }) =>
    assertionResults.some(({ status }) => status === 'passed' || status === 'failed'),
  );
  const executedKinds = new Set(executed.map(({ name }) => /\.(integration|e2e)\.test\./.exec(name)?.[1] ?? 'unit'));
  return kinds.filter((kind) => !executedKinds.has(kind));
}

/** A source file stands for the tests beside it that have its name. */
const toFilter = (path: string): string => (path.includes('.test.') ? path : path.replace(/\.[cm]?[jt]sx?$/, '.'));

/** The arguments of vitest. The project `integration-alone` belongs to the kind `integration`. */
export function toVitestArguments({ kinds, paths = [], changedSince, isShuffled }: TestRun): string[] {
  return [
    'run',
    ...paths.map(toFilter),
    ...kinds.flatMap((kind) => ['--project', kind === 'integration' ? 'integration*' : kind]),
    ...(changedSince === undefined ? [] : [changedSince === '' ? '--changed' : `--changed=${changedSince}`]),
    ...(isShuffled ? ['--sequence.shuffle'] : []),
  ];
}

/**
 * A run that fails outside its tests, e.g. in an import, counts as one failure, and so does a run of all tests that
 * executes no test of a kind.
 */
export async function runVitest({ root, runCommand }: CheckDeps, run: TestRun): Promise<CheckResult> {
  const directory = await mkdtemp(join(tmpdir(), 'recount-check-'));
  const reportPath = join(directory, 'report.json');
  const env = {
    RECOUNT_TEST_STAGE: run.stage,
    RECOUNT_TEST_SEED: String(run.seed),
    // A separate check at night.
    ...(run.stage === 'night' && { RECOUNT_TEST_CITUS_URL: undefined }),
    ...(process.stdout.isTTY && { FORCE_COLOR: '1' }),
  };
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`];
    // Piped, because beside the output of other checks, a terminal's moving summary would be unreadable.
    const onOutput = (text: string) => void process.stdout.write(text);
    const exitCode = await runCommand('vitest', [...toVitestArguments(run), ...reporters], { env, onOutput });
    const report = JSON.parse(await readFile(reportPath, 'utf8')) as VitestReport;
    const isPart = run.changedSince !== undefined || (run.paths ?? []).length > 0;
    const isWhole = !isPart && run.kinds.length > 1 && (run.stage === 'fast' || run.stage === 'all');
    const result = toResult(report, resolve(root), isWhole);
    const unexecuted = isPart ? [] : listUnexecuted(report, run.kinds);
    for (const kind of unexecuted) console.error(`no ${kind} test was executed`);
    return exitCode === 0 && unexecuted.length === 0 ? result : { ...result, failed: Math.max(result.failed, 1) };
  } catch (error) {
    console.error(`vitest left no report: ${(error as Error).message}`);
    return { passed: 0, failed: 1, skipped: 0 };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
