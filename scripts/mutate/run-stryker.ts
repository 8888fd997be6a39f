import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunCommand } from '../run-command.ts';
import { type SampleOptions, toMutantKey } from './sample-checker.ts';
import type { StrykerTarget } from './targets.ts';

export interface Score {
  killed: number;
  survivors: string[];
}

interface Report {
  files: Record<string, { mutants: (Parameters<typeof toMutantKey>[1] & Verdict)[] }>;
}

interface Verdict {
  status: string;
  statusReason?: string;
}

/** Tests a sample of the target's mutants, and the survivors again with its slow tests. */
export async function runStryker(
  { root, runCommand }: { root: string; runCommand: RunCommand },
  target: StrykerTarget,
  sample: Omit<SampleOptions, 'root' | 'only'>,
): Promise<Score> {
  const slow = target.slowTests.map((file) => `${target.folder}/**/${file}`);
  const exclude = ['**/node_modules/**', ...(target.needsDatabase ? [] : ['**/*.integration.test.ts'])];
  const quick = { include: [`${target.folder}/**/*.test.ts`], exclude: [...exclude, ...slow] };
  const first = await runOnce(root, runCommand, target, quick, { root, ...sample });
  if (target.slowTests.length === 0 || first.survivors.length === 0) return first;
  const count = first.killed + first.survivors.length;
  console.log(`${target.name}: ${first.killed} of ${count} noticed by the quick tests; the slow ones try the others:`);
  for (const survivor of first.survivors) console.log(`  slow?  ${survivor}`);
  const again = { root, ...sample, only: first.survivors };
  const second = await runOnce(root, runCommand, target, { include: slow, exclude }, again);
  return { killed: first.killed + second.killed, survivors: second.survivors };
}

async function runOnce(
  root: string,
  runCommand: RunCommand,
  target: StrykerTarget,
  tests: { include: readonly string[]; exclude: readonly string[] },
  sample: SampleOptions,
): Promise<Score> {
  const configFile = 'vitest.mutate.config.ts';
  const reportFile = join(root, 'mutation-report.json');
  const settings = JSON.stringify({
    test: {
      ...tests,
      testTimeout: 600_000,
      hookTimeout: 600_000,
      // A worker loads each module once for all test files.
      isolate: false,
      setupFiles: ['./test/src/wait-patiently.ts', './test/src/property-tests.ts'],
      provide: { propertyTests: { numRuns: target.needsDatabase ? 10 : 100, seed: 1, endOnFailure: true } },
      ...(target.needsDatabase && { globalSetup: ['./test/src/postgres-global-setup.ts'] }),
    },
  });
  await writeFile(join(root, configFile), toConfig(settings));
  const options = {
    testRunner: 'vitest',
    vitest: { configFile, related: false },
    plugins: ['@stryker-mutator/vitest-runner', join(import.meta.dirname, 'sample-checker.ts')],
    checkers: ['sample'],
    sample,
    mutate: [`${target.folder}/**/*.ts`, '!**/*.test.ts', '!**/testing/**'],
    // The root is already a sandbox.
    inPlace: true,
    coverageAnalysis: 'perTest',
    // A mutant in a constant takes effect when its module is loaded, so trying it would mean reloading all tests.
    ignoreStatic: true,
    concurrency: 1,
    timeoutMS: 60_000,
    timeoutFactor: 4,
    dryRunTimeoutMinutes: 30,
    disableTypeChecks: false,
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: reportFile },
    warnings: { unknownOptions: false },
  };
  await writeFile(join(root, 'stryker.config.json'), JSON.stringify(options));
  const exitCode = await runCommand('stryker', ['run', 'stryker.config.json']);
  if (exitCode !== 0) throw new Error(`Stryker ended with ${exitCode}`);
  const { files } = JSON.parse(await readFile(reportFile, 'utf8')) as Report;
  const mutants = Object.entries(files).flatMap(([file, report]) =>
    report.mutants.map((mutant) => ({ ...mutant, key: toMutantKey(root, toZeroBased(file, mutant)) })),
  );
  const tried = mutants.filter(({ status }) => !['CompileError', 'Ignored'].includes(status));
  const survivors = tried.filter((mutant) => !isNoticed(mutant)).map(({ key }) => key);
  return { killed: tried.length - survivors.length, survivors };
}

/** Too many hits mean an endless loop; a timeout may also be a busy machine, and must be checked. */
function isNoticed({ status, statusReason = '' }: Verdict): boolean {
  return ['Killed', 'RuntimeError'].includes(status) || (status === 'Timeout' && statusReason.startsWith('Hit limit'));
}

/** Runs the test files first that were fastest before, or are smallest, because most mutants are caught by these. */
const toConfig = (settings: string): string => `
import { BaseSequencer } from 'vitest/node';

class QuickestFirst extends BaseSequencer {
  async sort(files) {
    return (await super.sort(files)).reverse();
  }
}
const { test } = ${settings};
export default { test: { ...test, sequence: { sequencer: QuickestFirst } } };
`;

/** Reports count lines and columns from 1, checkers from 0. */
function toZeroBased<Place extends Parameters<typeof toMutantKey>[1]>(file: string, mutant: Place): Place {
  const { start, end } = mutant.location;
  const shift = (place: typeof start) => ({ line: place.line - 1, column: place.column - 1 });
  return { ...mutant, fileName: file, location: { start: shift(start), end: shift(end) } };
}
