import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { auditDependencies } from './audit.ts';
import type { RunCommand } from './run-command.ts';

/** Tests of a vitest run; every other check counts as one. */
export interface CheckResult {
  passed: number;
  failed: number;
  skipped: number;
  /** What failed and how, for the end of the log, which is the part that a CI service shows first. */
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

/** A lock file that names hosts installs only where those hosts are reached. The text of deprecations may name any. */
async function checkLockfile({ root }: CheckDeps): Promise<CheckResult> {
  const lines = (await readFile(join(root, 'pnpm-lock.yaml'), 'utf8')).split('\n');
  const offences = lines.flatMap((line, index) =>
    /https?:\/\//.test(line) && !/^\s*deprecated:/.test(line) ? [`pnpm-lock.yaml:${index + 1}: ${line.trim()}`] : [],
  );
  for (const offence of offences) console.error(offence);
  return toResult(offences.length === 0);
}

/** What is read of the report of vitest's reporter `json`. */
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

/** The message and the frames of our own code. */
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

async function readVitestReport(path: string, root: string): Promise<CheckResult> {
  const report = JSON.parse(await readFile(path, 'utf8')) as VitestReport;
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    failures: listFailures(report, root),
  };
}

/** A run that fails outside its tests, say in an import, counts as one failure, and so does one that executes no test. */
async function runVitest({ root, runCommand }: CheckDeps, project: string): Promise<CheckResult> {
  const directory = await mkdtemp(join(tmpdir(), 'recount-check-'));
  const reportPath = join(directory, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`];
    const exitCode = await runCommand('vitest', ['run', '--project', project, ...reporters]);
    const result = await readVitestReport(reportPath, resolve(root));
    const executed = result.passed + result.failed;
    if (executed === 0) console.error(`no test was executed in the project ${project}`);
    return exitCode === 0 && executed > 0 ? result : { ...result, failed: Math.max(result.failed, 1) };
  } catch (error) {
    console.error(`vitest left no report: ${(error as Error).message}`);
    return toResult(false);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function tests(name: string, project: string): Check {
  return { name, title: `vitest run --project ${project}`, run: (deps) => runVitest(deps, project) };
}

/** In the order in which they run: the quick ones first. */
export const checks: readonly Check[] = [
  command('format', 'biome', 'format', '.'),
  command('lint', 'biome', 'lint', '--error-on-warnings', '.'),
  command('types', 'turbo', 'run', 'check-types', '--output-logs=errors-only'),
  command('boundaries', 'turbo', 'boundaries'),
  // Its hints are about patterns of the configuration that match in other workspaces.
  command('unused', 'knip', '--no-config-hints'),
  { name: 'lockfile', title: 'pnpm-lock.yaml names no host', run: checkLockfile },
  { name: 'audit', title: 'pnpm audit --prod', run: async ({ root }) => toResult(await auditDependencies(root)) },
  tests('unit', 'unit'),
  tests('integration', 'integration*'),
  tests('e2e', 'e2e'),
];
