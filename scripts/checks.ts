import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { auditDependencies } from './audit.ts';
import type { RunCommand } from './run-command.ts';

/** Counts the tests of a vitest run; every other check counts as one. */
export interface CheckResult {
  passed: number;
  failed: number;
  skipped: number;
  /** What failed and how, for the end of the log, which is what a CI service shows first. */
  failures?: string[];
}

export interface CheckDeps {
  /** The root of the repository. */
  root: string;
  runCommand: RunCommand;
}

export interface Check {
  name: string;
  title: string;
  run(deps: CheckDeps): Promise<CheckResult>;
}

const toResult = (passes: boolean): CheckResult => ({ passed: passes ? 1 : 0, failed: passes ? 0 : 1, skipped: 0 });

function command(name: string, program: string, ...programArguments: string[]): Check {
  return {
    name,
    title: [program, ...programArguments].join(' '),
    run: async ({ runCommand }) => toResult((await runCommand(program, programArguments)) === 0),
  };
}

/**
 * A lock file that names hosts can only be installed where those hosts are reachable. Deprecation texts may name any.
 */
async function checkLockfile({ root }: CheckDeps): Promise<CheckResult> {
  const lines = (await readFile(join(root, 'pnpm-lock.yaml'), 'utf8')).split('\n');
  const offences = lines.flatMap((line, index) =>
    /https?:\/\//.test(line) && !/^\s*deprecated:/.test(line) ? [`pnpm-lock.yaml:${index + 1}: ${line.trim()}`] : [],
  );
  for (const offence of offences) console.error(offence);
  return toResult(offences.length === 0);
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
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

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

const toVitestResult = (report: VitestReport, root: string): CheckResult => ({
  passed: report.numPassedTests,
  failed: report.numFailedTests,
  skipped: report.numPendingTests + report.numTodoTests,
  failures: listFailures(report, root),
});

/** The kinds, e.g. `e2e`, of which no test was executed. */
function listUnexecuted(report: VitestReport, kinds: readonly string[]): string[] {
  const executed = report.testResults.filter(({ assertionResults }) =>
    assertionResults.some(({ status }) => status === 'passed' || status === 'failed'),
  );
  const executedKinds = new Set(executed.map(({ name }) => /\.(integration|e2e)\.test\./.exec(name)?.[1] ?? 'unit'));
  return kinds.filter((kind) => !executedKinds.has(kind));
}

/**
 * A run that fails outside its tests, e.g. in an import, counts as one failure, and so does one that executes no test
 * of a kind.
 */
async function runVitest({ root, runCommand }: CheckDeps, kinds: readonly string[]): Promise<CheckResult> {
  const directory = await mkdtemp(join(tmpdir(), 'recount-check-'));
  const reportPath = join(directory, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`];
    const exitCode = await runCommand('vitest', ['run', ...toProjectOptions(kinds), ...reporters]);
    const report = JSON.parse(await readFile(reportPath, 'utf8')) as VitestReport;
    const result = toVitestResult(report, resolve(root));
    const unexecuted = listUnexecuted(report, kinds);
    for (const kind of unexecuted) console.error(`no ${kind} test was executed`);
    return exitCode === 0 && unexecuted.length === 0 ? result : { ...result, failed: Math.max(result.failed, 1) };
  } catch (error) {
    console.error(`vitest left no report: ${(error as Error).message}`);
    return toResult(false);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The project `integration-alone` belongs to the kind `integration`. */
const toProjectOptions = (kinds: readonly string[]): string[] =>
  kinds.flatMap((kind) => ['--project', kind === 'integration' ? 'integration*' : kind]);

function tests(...kinds: string[]): Check {
  const title = ['vitest run', ...toProjectOptions(kinds)].join(' ');
  return { name: kinds.join('+'), title, run: (deps) => runVitest(deps, kinds) };
}

/** In the order in which they run: quick ones first. */
const checks: readonly Check[] = [
  command('format', 'biome', 'format', '.'),
  command('lint', 'biome', 'lint', '--error-on-warnings', '.'),
  command('types', 'turbo', 'run', 'check-types', '--output-logs=errors-only'),
  command('boundaries', 'turbo', 'boundaries'),
  // Its hints concern configuration patterns that match only in other workspaces.
  command('unused', 'knip', '--no-config-hints'),
  { name: 'lockfile', title: 'pnpm-lock.yaml names no host', run: checkLockfile },
  { name: 'audit', title: 'pnpm audit --prod', run: async ({ root }) => toResult(await auditDependencies(root)) },
  tests('unit'),
  tests('integration'),
  tests('e2e'),
];

export const checkNames: readonly string[] = checks.map(({ name }) => name);

/**
 * Both spend half of their time waiting for the programs that they test: run together, each works while the other
 * waits.
 */
const RUN_TOGETHER = ['integration', 'e2e'];

/** The checks of these names, in the order in which they run. */
export function selectChecks(names: readonly string[]): Check[] {
  const selected = checks.filter(({ name }) => names.includes(name));
  if (!RUN_TOGETHER.every((name) => names.includes(name))) return selected;
  return [...selected.filter(({ name }) => !RUN_TOGETHER.includes(name)), tests(...RUN_TOGETHER)];
}
