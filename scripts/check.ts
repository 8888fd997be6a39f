import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Check, CheckResult } from './check-result.ts';
import { checkNames, type Selection, selectChecks } from './checks.ts';
import { createCommandRunner } from './run-command.ts';
import { chooseSeed, DAY_SEED, type Stage, toStage } from './stages.ts';

const root = `${import.meta.dirname}/..`;
const interruptedExitCode = 130;

const help = `Usage: npm test [-- OPTIONS]              static checks, and the tests that a change usually breaks
       npm test -- PATH...                all tests below these folders, or beside these files
       npm test -- --changed [COMMIT]     of the tests of npm test, those that import what has changed since this commit,
                                          or since the last one; the same works with test:all
       npm run test:quick [-- OPTIONS]    static checks and unit tests
       npm run test:all [-- OPTIONS]      everything but the night
       npm run test:night [-- OPTIONS]    every test with many more runs of property tests, and chaos, hostile, mutation,
                                          lab, and all on a Citus cluster if RECOUNT_TEST_CITUS_URL names one

Runs every check, also after one that failed, prints failures as they come and again at the end, and exits with 1 if
there was any. scripts/stages.ts says which tests belong to which of these.

  --only NAME,NAME  run only these of: ${checkNames.join(', ')}
  --rest            with test:all: only what npm test leaves out
  --shuffle         run files, and the tests of each, in an order that the seed decides
  --seed NUMBER     of property tests, of the order and of the attacks; it is printed at the end. The default is
                    ${DAY_SEED}, and random at night and with --shuffle (for vitest itself: RECOUNT_TEST_SEED=NUMBER)
  --seed random     a new one
  --help            print this text

RECOUNT_CHECK_TALLY=FILE appends "PASSED FAILED SKIPPED" to the file in place of the closing line.
`;

interface FinishedCheck extends CheckResult {
  name: string;
  durationMs: number;
}

function parseStage(text: string | undefined, onlyRest: boolean): Stage {
  const stage = toStage(text ?? 'fast');
  if (!onlyRest) return stage;
  if (stage !== 'all') throw new Error('--rest needs npm run test:all');
  return 'rest';
}

function parseNames(only: string | undefined): string[] | undefined {
  const names = only?.split(',').map((name) => name.trim());
  const unknown = names?.filter((name) => !checkNames.includes(name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`--only: unknown check ${unknown.join(', ')}; known: ${checkNames.join(', ')}`);
  return names;
}

function parseSeed(text: string): number {
  const seed = text === 'random' ? chooseSeed() : Number(text);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`--seed: ${text} is neither a whole number nor random`);
  return seed;
}

/** Undefined for --help. */
function parseSelection(): Selection | undefined {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      stage: { type: 'string' },
      rest: { type: 'boolean', default: false },
      only: { type: 'string' },
      changed: { type: 'boolean', default: false },
      shuffle: { type: 'boolean', default: false },
      seed: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const defaultSeed = values.shuffle || values.stage === 'night' ? 'random' : String(DAY_SEED);
  if (values.changed && positionals.length > 1) throw new Error('--changed: takes one commit, and no paths');
  return {
    stage: parseStage(values.stage, values.rest),
    only: parseNames(values.only),
    paths: values.changed ? [] : positionals,
    changedSince: values.changed ? (positionals[0] ?? '') : undefined,
    isShuffled: values.shuffle,
    seed: parseSeed(values.seed ?? process.env.RECOUNT_TEST_SEED ?? defaultSeed),
  };
}

const toSeconds = (durationMs: number) => `${(durationMs / 1_000).toFixed(1)} s`;

function toSummaryLine({ name, durationMs, passed, failed, skipped }: FinishedCheck): string {
  const verdict = failed > 0 ? 'FAILED' : passed > 0 ? 'passed' : 'skipped';
  const counts = passed + failed + skipped > 1 ? `  ${passed} of ${passed + failed} passed, ${skipped} skipped` : '';
  return `${verdict.padEnd(7)}  ${name.padEnd(12)} ${toSeconds(durationMs).padStart(8)}${counts}`;
}

const toFailureLines = ({ failures = [] }: FinishedCheck) => failures.map((failure) => `FAILED  ${failure}\n`);

const sum = (finished: FinishedCheck[], key: 'passed' | 'failed' | 'skipped') =>
  finished.reduce((total, check) => total + check[key], 0);

function toClosingLine(finished: FinishedCheck[]): string {
  const skipped = sum(finished, 'skipped');
  return `${sum(finished, 'passed')} passed, ${sum(finished, 'failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/** Runs the checks one after the other. */
async function runInTurn(checks: Check[], interruption: AbortSignal): Promise<FinishedCheck[]> {
  const deps = { root, runCommand: createCommandRunner({ directory: root, interruption }) };
  const finished: FinishedCheck[] = [];
  for (const check of checks) {
    if (interruption.aborted) continue;
    if (!check.isStatic) console.log(`== ${check.name}: ${check.title}`);
    const startMs = performance.now();
    const result = await check.run(deps);
    const durationMs = performance.now() - startMs;
    const verdict = result.failed > 0 ? `FAILED: ${check.title}` : 'passed';
    console.log(`${result.output ?? ''}== ${check.name} ${verdict}, in ${toSeconds(durationMs)}`);
    finished.push({ name: check.name, durationMs, ...result });
  }
  return finished;
}

async function runChecks(checks: Check[], interruption: AbortSignal): Promise<FinishedCheck[]> {
  const [ofStatic, ofOthers] = await Promise.all(
    [true, false].map((isStatic) =>
      runInTurn(
        checks.filter((check) => (check.isStatic ?? false) === isStatic),
        interruption,
      ),
    ),
  );
  return [...(ofStatic ?? []), ...(ofOthers ?? [])];
}

async function report(finished: FinishedCheck[], { seed }: Selection): Promise<void> {
  const notes = finished.flatMap((check) => check.notes ?? []);
  const failures = finished.flatMap(toFailureLines);
  const lines = [...notes, ...failures, finished.map(toSummaryLine).join('\n'), `seed ${seed} (--seed repeats it)`];
  console.log(`\n${lines.join('\n')}`);
  const { RECOUNT_CHECK_TALLY: tally } = process.env;
  if (tally === undefined) console.log(`\n${toClosingLine(finished)}`);
  else await appendFile(tally, `${sum(finished, 'passed')} ${sum(finished, 'failed')} ${sum(finished, 'skipped')}\n`);
}

/** `npm start` installs the program alone. */
function installDevelopmentTools(): void {
  if (existsSync(join(root, 'node_modules', '.bin'))) return;
  const options = { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' } as const;
  execFileSync('pnpm', ['install', '--frozen-lockfile'], options);
}

async function main(): Promise<number> {
  const selection = parseSelection();
  if (selection === undefined) {
    console.log(help);
    return 0;
  }
  const checks = selectChecks(selection);
  if (checks.length === 0) throw new Error(`--only: these checks are not part of the stage "${selection.stage}"`);
  installDevelopmentTools();
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interruption.abort());
  const finished = await runChecks(checks, interruption.signal);
  if (interruption.signal.aborted) {
    console.error('interrupted');
    return interruptedExitCode;
  }
  await report(finished, selection);
  return finished.some((check) => check.failed > 0) ? 1 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
