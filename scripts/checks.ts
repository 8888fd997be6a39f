import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { auditDependencies } from './audit.ts';
import type { RunCommand } from './run-command.ts';

/** Tests of a vitest run; every other check counts as one. */
export interface CheckResult {
  passed: number;
  failed: number;
  skipped: number;
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

async function readVitestReport(path: string): Promise<CheckResult> {
  const report = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
  const count = (key: string) => Number(report[key]) || 0;
  return {
    passed: count('numPassedTests'),
    failed: count('numFailedTests'),
    skipped: count('numPendingTests') + count('numTodoTests'),
  };
}

/** A run that fails outside its tests, say in an import, counts as one failure, and so does one that executes no test. */
async function runVitest({ runCommand }: CheckDeps, project: string): Promise<CheckResult> {
  const directory = await mkdtemp(join(tmpdir(), 'recount-check-'));
  const reportPath = join(directory, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`];
    const exitCode = await runCommand('vitest', ['run', '--project', project, ...reporters]);
    const result = await readVitestReport(reportPath);
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
  command('types', 'turbo', 'run', 'check-types', '--continue', '--output-logs=errors-only'),
  command('boundaries', 'turbo', 'boundaries'),
  { name: 'lockfile', title: 'pnpm-lock.yaml names no host', run: checkLockfile },
  { name: 'audit', title: 'pnpm audit --prod', run: async ({ root }) => toResult(await auditDependencies(root)) },
  tests('unit', 'unit'),
  tests('integration', 'integration'),
  tests('e2e', 'e2e'),
];
