import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

interface FakeRepository {
  /** Fake programs of node_modules/.bin, as shell scripts. Vitest's get the path of the report as $report. */
  programs?: Record<string, string>;
  lockfile?: string;
}

interface FakeFile {
  name: string;
  status: string;
  message: string;
  startTime: number;
  endTime: number;
  assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
}

/** A file of each of the kinds, with a passing test. */
const toFiles = (...kinds: ('unit' | 'integration' | 'e2e')[]): FakeFile[] =>
  kinds.map((kind) => ({
    name: kind === 'unit' ? '/elsewhere/a.test.ts' : `/elsewhere/a.${kind}.test.ts`,
    status: 'passed',
    message: '',
    startTime: 0,
    endTime: 1,
    assertionResults: [{ status: 'passed', fullName: 'is there', failureMessages: [] }],
  }));

function writeReport(
  counts: Record<string, number>,
  testResults: FakeFile[] = toFiles('unit', 'integration', 'e2e'),
): string {
  const none = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 };
  return `cat > "$report" <<'END'\n${JSON.stringify({ ...none, ...counts, testResults })}\nEND\n`;
}

async function createRepository({ programs = {}, lockfile = '' }: FakeRepository): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'recount-check-test-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await cp(join(import.meta.dirname, '..', '..', 'scripts'), join(root, 'scripts'), { recursive: true });
  await writeFile(join(root, 'package.json'), '{ "type": "module" }');
  await writeFile(join(root, 'pnpm-lock.yaml'), lockfile);
  const bin = join(root, 'node_modules', '.bin');
  await mkdir(bin, { recursive: true });
  const findReport = `for argument; do report="\${argument#--outputFile.json=}"; done`;
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${findReport}\n${script}\n`, { mode: 0o755 });
  }
  return root;
}

function spawnCheck(root: string, programArguments: string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const words = [join(root, 'scripts', 'check.ts'), ...programArguments];
  return spawn(process.execPath, words, { env: { ...process.env, RECOUNT_CHECK_TALLY: undefined, ...env } });
}

async function check(repository: FakeRepository, only: string) {
  const child = spawnCheck(await createRepository(repository), ['--only', only]);
  if (child.stdout === null || child.stderr === null) throw new Error('no output');
  const [output, errors, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { exitCode, output, errors, closingLine: output.trimEnd().split('\n').at(-1) };
}

/** Runs the checks, and returns the stage of vitest's run with its arguments. */
async function readVitestCall(...words: string[]): Promise<string> {
  const vitest = `echo "given: $RECOUNT_TEST_STAGE: $*"\n${writeReport({ numPassedTests: 3 })}`;
  const child = spawnCheck(await createRepository({ programs: { vitest } }), words);
  if (child.stdout === null) throw new Error('no output');
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return /given: (.*?) --reporter/.exec(output)?.[1] ?? output;
}

test('sums the tests of vitest and counts every other check as one', async () => {
  const programs = {
    biome: 'exit 0',
    vitest: writeReport({ numPassedTests: 20, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 }),
  };
  expect(await check({ programs }, 'format,unit,lint')).toMatchObject({
    exitCode: 0,
    closingLine: '22 passed, 0 failed',
  });
});

test('continues after a failure and names what was skipped', async () => {
  const programs = {
    biome: 'exit 1',
    vitest: `${writeReport({ numPassedTests: 5, numFailedTests: 2, numPendingTests: 3, numTodoTests: 1 })}exit 1`,
  };
  const result = await check({ programs }, 'format,lockfile,integration');
  expect(result).toMatchObject({ exitCode: 1, closingLine: '6 passed, 3 failed, 4 skipped' });
  expect(result.output).toMatch(/== lockfile passed/);
  expect(result.output).toMatch(/== format FAILED: biome format/);
  expect(result.output).toMatch(/== integration FAILED: vitest/);
});

test.each([
  ['fails outside its tests', `${writeReport({ numPassedTests: 5, numFailedTests: 0 })}exit 1`, '5 passed, 1 failed'],
  ['executes no test', writeReport({ numPassedTests: 0, numPendingTests: 2 }, []), '0 passed, 1 failed, 2 skipped'],
  ['leaves no report', 'exit 0', '0 passed, 1 failed'],
])('fails if vitest %s', async (_name, vitest, closingLine) => {
  expect(await check({ programs: { vitest } }, 'e2e')).toMatchObject({ exitCode: 1, closingLine });
});

test('fails if no test of a kind was executed', async () => {
  const both = writeReport({ numPassedTests: 2 }, toFiles('integration', 'e2e'));
  expect(await check({ programs: { vitest: both } }, 'e2e,integration')).toMatchObject({
    exitCode: 0,
    closingLine: '2 passed, 0 failed',
  });
  const one = writeReport({ numPassedTests: 1 }, toFiles('e2e'));
  const failed = await check({ programs: { vitest: one } }, 'integration,e2e');
  expect(failed).toMatchObject({ exitCode: 1, closingLine: '1 passed, 1 failed' });
  expect(failed.errors).toContain('no integration test was executed');
});

test.each([
  [['--only', 'unit,integration,e2e'], 'fast: run --project unit --project integration* --project e2e'],
  [['--stage', 'all', '--rest', '--only', 'e2e'], 'rest: run --project e2e'],
  [['--stage', 'night', '--only', 'unit'], 'night: run --project unit'],
  [['a/b.ts', 'c'], ': run a/b. c --project unit --project integration* --project e2e'],
  [['--changed'], 'fast: run --project unit --project integration* --project e2e --changed'],
  [['--changed', 'main', '--stage', 'all', '--only', 'unit'], 'all: run --project unit --changed=main'],
  [['--only', 'unit', '--shuffle'], 'fast: run --project unit --sequence.shuffle'],
])('%j runs the tests "%s"', async (words, call) => {
  expect(await readVitestCall(...words)).toBe(call);
});

test('names a file that takes too large a part of npm test', async () => {
  const files = toFiles('unit', 'integration').map((file, index) => ({
    ...file,
    endTime: index === 0 ? 9_000 : 1_000,
  }));
  const vitest = writeReport({ numPassedTests: 2 }, files);
  const { output } = await check({ programs: { vitest } }, 'unit,integration');
  expect(output).toMatch(/a\.test\.ts takes 90 % of npm test: .*scripts\/stages\.ts/);
});

test('appends its figures to a tally in place of the closing line', async () => {
  const tally = join(await mkdtemp(join(tmpdir(), 'recount-tally-')), 'tally');
  onTestFinished(() => rm(join(tally, '..'), { recursive: true, force: true }));
  for (const exitCode of [0, 1]) {
    const root = await createRepository({ programs: { biome: `exit ${exitCode}` } });
    const child = spawnCheck(root, ['--only', 'format,lockfile'], { RECOUNT_CHECK_TALLY: tally });
    if (child.stdout === null) throw new Error('no output');
    const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect(output).not.toMatch(/\d passed, \d+ failed/);
  }
  expect(await readFile(tally, 'utf8')).toBe('2 0 0\n1 1 0\n');
});

test('ends with the failures of tests, without stack frames outside the repository', async () => {
  const frames = ['at ours.test.ts:3:1', 'at run (/root/node_modules/vitest/run.js:1:1)'];
  const failed = {
    status: 'failed',
    fullName: 'counts right',
    failureMessages: [`expected 1 to be 2\n${frames.join('\n')}`],
  };
  const passed = { status: 'passed', fullName: 'is there', failureMessages: [] };
  const times = { startTime: 0, endTime: 1 };
  const vitest = writeReport({ numPassedTests: 1, numFailedTests: 1 }, [
    { ...times, name: '/elsewhere/ours.test.ts', status: 'failed', message: '', assertionResults: [passed, failed] },
    {
      ...times,
      name: '/elsewhere/broken.test.ts',
      status: 'failed',
      message: 'Cannot find module',
      assertionResults: [],
    },
  ]);
  const { output } = await check({ programs: { vitest: `${vitest}exit 1` } }, 'unit');
  expect(output).toMatch(/ours\.test\.ts > counts right\nexpected 1 to be 2\nat ours\.test\.ts:3:1\n/);
  expect(output).toMatch(/broken\.test\.ts\nCannot find module\n/);
  expect(output).not.toMatch(/is there|node_modules/);
});

test('fails if a program is missing', async () => {
  const result = await check({}, 'boundaries');
  expect(result).toMatchObject({ exitCode: 1, closingLine: '0 passed, 1 failed' });
  expect(result.output).toContain('turbo cannot be run');
});

test('refuses a lock file that names a host', async () => {
  const deprecated = '    deprecated: see https://project.example/news\n';
  expect(await check({ lockfile: deprecated }, 'lockfile')).toMatchObject({ exitCode: 0 });
  const lockfile = `${deprecated}    resolution: {tarball: https://registry.example/a.tgz}\n`;
  const result = await check({ lockfile }, 'lockfile');
  expect(result).toMatchObject({ exitCode: 1, closingLine: '0 passed, 1 failed' });
  expect(result.output).toContain('pnpm-lock.yaml:2: resolution');
});

test('refuses an unknown check', async () => {
  expect(await check({}, 'lint,unity')).toMatchObject({ exitCode: 1, errors: expect.stringContaining('unity') });
});

test('ends the running program when interrupted, and starts no other', async () => {
  const root = await createRepository({
    programs: { biome: 'echo $$ > pid; while :; do sleep 0.05; done', turbo: 'touch turbo-ran' },
  });
  const child = spawnCheck(root, ['--only', 'format,boundaries']);
  const readPid = () => readFile(join(root, 'pid'), 'utf8');
  await expect.poll(readPid).toMatch(/\d\n/);
  const pid = Number(await readPid());
  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([130, null]);
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  await expect(readFile(join(root, 'turbo-ran'))).rejects.toThrow('ENOENT');
});
