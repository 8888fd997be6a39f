import { parseArgs } from 'node:util';
import { type CheckResult, checkNames, selectChecks } from './checks.ts';
import { createCommandRunner } from './run-command.ts';

const root = `${import.meta.dirname}/..`;
const interruptedExitCode = 130;

const help = `Usage: node scripts/check.ts [--only NAME,NAME]

Runs every check, also after one that failed, and exits with 1 if any failed.

  --only NAME,NAME  run only these of: ${checkNames.join(', ')}
  --help            print this text
`;

interface FinishedCheck extends CheckResult {
  name: string;
  durationMs: number;
}

function parseNames(only: string | undefined): readonly string[] {
  if (only === undefined) return checkNames;
  const names = only.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !checkNames.includes(name));
  if (unknown.length > 0)
    throw new Error(`--only: unknown check ${unknown.join(', ')}; known: ${checkNames.join(', ')}`);
  return names;
}

const toSeconds = (durationMs: number) => `${(durationMs / 1_000).toFixed(1)} s`;

function toSummaryLine({ name, durationMs, passed, failed, skipped }: FinishedCheck): string {
  const verdict = failed > 0 ? 'FAILED' : 'passed';
  const counts = `${passed} passed, ${failed} failed, ${skipped} skipped`;
  return `${verdict}  ${name.padEnd(15)} ${toSeconds(durationMs).padStart(8)}  ${counts}`;
}

const toFailureLines = ({ failures = [] }: FinishedCheck) => failures.map((failure) => `FAILED  ${failure}\n`);

function toClosingLine(finished: FinishedCheck[]): string {
  const sum = (key: 'passed' | 'failed' | 'skipped') => finished.reduce((total, check) => total + check[key], 0);
  const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : '';
  return `${sum('passed')} passed, ${sum('failed')} failed${skipped}`;
}

async function runChecks(names: readonly string[], interruption: AbortSignal): Promise<FinishedCheck[]> {
  const deps = { root, runCommand: createCommandRunner({ directory: root, interruption }) };
  const finished: FinishedCheck[] = [];
  for (const check of selectChecks(names)) {
    if (interruption.aborted) continue;
    console.log(`\n== ${check.name}: ${check.title}`);
    const startMs = performance.now();
    const result = await check.run(deps);
    const durationMs = performance.now() - startMs;
    console.log(`== ${check.name} ${result.failed > 0 ? 'FAILED' : 'passed'} in ${toSeconds(durationMs)}`);
    finished.push({ name: check.name, durationMs, ...result });
  }
  return finished;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { only: { type: 'string' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interruption.abort());
  const finished = await runChecks(parseNames(values.only), interruption.signal);
  if (interruption.signal.aborted) {
    console.error('interrupted');
    return interruptedExitCode;
  }
  console.log(`\n${finished.flatMap(toFailureLines).join('\n')}`);
  console.log(`\n${finished.map(toSummaryLine).join('\n')}\n\n${toClosingLine(finished)}`);
  return finished.some((check) => check.failed > 0) ? 1 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
