import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createVitest, type Vitest } from 'vitest/node';
import type { SqlMutant } from './sql-mutants.ts';
import type { SqlTest } from './targets.ts';

export interface FileMutant extends SqlMutant {
  /** Relative to the root. */
  file: string;
  tests: readonly SqlTest[];
}

/** A mutant may make a statement pair all rows with all. The statement is cancelled, and its test fails. */
const STATEMENT_TIMEOUT_MS = 60_000;

type Verdict = 'killed' | 'survived';

export interface SqlRunOptions {
  /** A copy of the repositorywith changed files. */
  root: string;
  /** No mutant is started later than this after the tests have passed without one. */
  maxMs: number;
  onVerdict: (mutant: FileMutant, verdict: Verdict) => void;
}

/** Runs its tests against each mutant in turn, in one vitest whose test server keeps running. */
export async function runSqlMutants(mutants: readonly FileMutant[], options: SqlRunOptions): Promise<void> {
  const { root, maxMs, onVerdict } = options;
  process.env.PGOPTIONS ??= `-c statement_timeout=${STATEMENT_TIMEOUT_MS}`;
  const vitest = await createVitest('test', {
    root,
    config: join(root, 'vitest.config.ts'),
    project: ['integration'],
    watch: false,
    bail: 1,
    fileParallelism: false,
    reporters: [{}],
    onConsoleLog: () => false,
  });
  try {
    await vitest.standalone();
    const tests = [...new Set(mutants.flatMap((mutant) => mutant.tests))];
    if (!(await passes(vitest, root, tests))) throw new Error('Tests fail without a mutant');
    const deadlineMs = performance.now() + maxMs;
    for (const mutant of mutants) {
      if (performance.now() > deadlineMs) return;
      const path = join(root, mutant.file);
      const source = await readFile(path, 'utf8');
      const end = mutant.start + mutant.original.length;
      await writeFile(path, source.slice(0, mutant.start) + mutant.replacement + source.slice(end));
      vitest.invalidateFile(path);
      try {
        onVerdict(mutant, (await passes(vitest, root, mutant.tests)) ? 'survived' : 'killed');
      } finally {
        await writeFile(path, source);
        vitest.invalidateFile(path);
      }
    }
  } finally {
    await vitest.close();
  }
}

/** Runs one test file after the other, until one fails. */
async function passes(vitest: Vitest, root: string, tests: readonly SqlTest[]): Promise<boolean> {
  for (const { file, names } of tests) {
    const specifications = vitest.getModuleSpecifications(join(root, file));
    if (specifications.length === 0) throw new Error(`No test file: ${file}`);
    vitest.state.filesMap.clear();
    if (names === undefined) vitest.resetGlobalTestNamePattern();
    else vitest.setGlobalTestNamePattern(names);
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications, true);
    const results = testModules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    if (results.every((state) => state === 'skipped')) throw new Error(`No test ran of ${file}, ${names}`);
    const isWhole = testModules.every((module) => module.ok());
    if (!isWhole || unhandledErrors.length > 0) return false;
  }
  return true;
}
