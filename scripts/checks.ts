import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { auditDependencies } from './audit.ts';
import type { Check, CheckDeps, CheckResult } from './check-result.ts';
import { checkEnglish } from './english.ts';
import { findUpwardImports, listSources } from './folder-order.ts';
import { type Kind, runVitest, type TestRun, toVitestArguments } from './run-vitest.ts';
import type { Stage } from './stages.ts';

const toResult = (passes: boolean): CheckResult => ({ passed: passes ? 1 : 0, failed: passes ? 0 : 1, skipped: 0 });

function command(name: string, program: string, ...programArguments: string[]): Check {
  return {
    name,
    title: [program, ...programArguments].join(' '),
    isStatic: true,
    async run({ runCommand }) {
      let output = '';
      const onOutput = (text: string) => {
        output += text;
      };
      return { ...toResult((await runCommand(program, programArguments, { onOutput })) === 0), output };
    },
  };
}

/**
 * A lock file that names hosts can only be installed where those hosts are reachable. Deprecation texts may name any.
 */
async function checkLockfile({ root }: CheckDeps): Promise<CheckResult> {
  const lines = (await readFile(join(root, 'pnpm-lock.yaml'), 'utf8')).split('\n');
  const offences = lines.flatMap((line, index) =>
    /https?:\/\//.test(line) && !/^\s*deprecated:/.test(line) ? [`pnpm-lock.yaml:${index + 1}: ${line.trim()}\n`] : [],
  );
  return { ...toResult(offences.length === 0), output: offences.join('') };
}

/** `turbo boundaries` checks the order of packages. */
async function checkFolderOrder({ root }: CheckDeps): Promise<CheckResult> {
  const offences = await findUpwardImports(await listSources(root), (file) => readFile(join(root, file), 'utf8'));
  return { ...toResult(offences.length === 0), output: offences.map((line) => `${line}\n`).join('') };
}

async function checkWording({ root }: CheckDeps): Promise<CheckResult> {
  const offences = await checkEnglish(root);
  return { ...toResult(offences.length === 0), output: offences.map((line) => `${line}\n`).join('') };
}

async function checkAdvisories({ root }: CheckDeps): Promise<CheckResult> {
  const { passes, output } = await auditDependencies(root);
  return { ...toResult(passes), output };
}

/** In the order of their runs, quick ones first. */
const STATIC: readonly Check[] = [
  { name: 'lockfile', title: 'pnpm-lock.yaml names no host', isStatic: true, run: checkLockfile },
  command('format', 'biome', 'format', '.'),
  command('lint', 'biome', 'lint', '--error-on-warnings', '.'),
  command('types', 'turbo', 'run', 'check-types', '--output-logs=errors-only'),
  command('client', 'turbo', 'run', 'generate-client', '--output-logs=errors-only', '--', '--check'),
  command('boundaries', 'turbo', 'boundaries'),
  { name: 'folders', title: 'folders import in order', isStatic: true, run: checkFolderOrder },
  { name: 'english', title: 'texts avoid the wordings of scripts/english.ts', isStatic: true, run: checkWording },
  // Its hints concern configuration patterns that match only in other workspaces.
  command('unused', 'knip', '--no-config-hints'),
];

/** Its answer depends on the day and the network, and not on the change. */
const AUDIT: Check = { name: 'audit', title: 'pnpm audit --prod', isStatic: true, run: checkAdvisories };

const KINDS: readonly Kind[] = ['unit', 'integration', 'e2e'];

/** A program of this repository that tries to break it, and ends with another exit code than 0 if it could. */
function program(name: string, script: string, ...programArguments: string[]): Check {
  return {
    name,
    title: `node ${[script, ...programArguments].join(' ')}`,
    run: async ({ runCommand }) => toResult((await runCommand('node', [script, ...programArguments])) === 0),
  };
}

/** Fails if tests notice too few changes of the source: stryker.config.json. */
const mutation: Check = {
  name: 'mutation',
  title: 'stryker run',
  run: async ({ runCommand }) => toResult((await runCommand('stryker', ['run'])) === 0),
};

/** Without a cluster it is skipped, and says so. */
const citus = (run: TestRun): Check => ({
  name: 'citus',
  title: 'the integration and end-to-end tests on the cluster that RECOUNT_TEST_CITUS_URL names',
  async run(deps) {
    if (process.env.RECOUNT_TEST_CITUS_URL)
      return await runVitest(deps, { ...run, kinds: ['integration', 'e2e'], stage: 'all' });
    console.log('skipped: RECOUNT_TEST_CITUS_URL names no coordinator of a cluster');
    return { passed: 0, failed: 0, skipped: 1 };
  },
});

const tests = (run: TestRun): Check => ({
  name: run.kinds.length === KINDS.length ? 'tests' : run.kinds.join('+'),
  title: ['vitest', ...toVitestArguments(run)].join(' '),
  run: (deps) => runVitest(deps, run),
});

export interface Selection extends Pick<TestRun, 'paths' | 'changedSince' | 'isShuffled' | 'seed'> {
  stage: Stage;
  /** Only the checks of these names. */
  only?: readonly string[] | undefined;
}

/** All names that `only` may have: of checks, and of the kinds of tests. */
export const checkNames: readonly string[] = [
  ...[...STATIC, AUDIT].map(({ name }) => name),
  ...KINDS,
  ...['chaos', 'hostile', 'mutation', 'lab', 'citus'],
];

function selectStatic({ stage, only }: Selection): readonly Check[] {
  if (only !== undefined || stage === 'all') return [...STATIC, AUDIT];
  return stage === 'quick' || stage === 'fast' ? STATIC : [AUDIT];
}

/** The checks of a stage, one after the other; static checks run beside the tests. */
export function selectChecks(selection: Selection): Check[] {
  const { stage, only, ...run } = selection;
  const isSelected = ({ name }: Pick<Check, 'name'>) => only?.includes(name) ?? true;
  const kindsOfStage = stage === 'quick' ? (['unit'] as const) : stage === 'rest' ? KINDS.slice(1) : KINDS;
  const kinds = kindsOfStage.filter((name) => isSelected({ name }));
  // Of a path, every test is run.
  const stageOfTests = (run.paths ?? []).length > 0 ? undefined : stage;
  const testRun = { ...run, kinds, stage: stageOfTests } satisfies TestRun;
  const testChecks = kinds.length === 0 ? [] : [tests(testRun)];
  if ((run.paths ?? []).length > 0 || run.changedSince !== undefined) return testChecks;
  const staticChecks = selectStatic(selection).filter(isSelected);
  if (stage !== 'night') return [...staticChecks, ...testChecks];
  const attacks = [
    program('chaos', 'test/src/chaos/main.ts', '--kills', '80', '--seed', String(run.seed)),
    program('hostile', 'test/src/hostile/main.ts', '--seed', String(run.seed)),
    mutation,
    program('lab', 'test/src/lab/main.ts'),
    citus(testRun),
  ];
  return [...staticChecks, ...testChecks, ...attacks.filter(isSelected)];
}
