import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createCommandRunner } from '../run-command.ts';
import { findEquivalent } from './equivalent-sql-mutants.ts';
import { runSqlMutants } from './run-sql-mutants.ts';
import { runStryker, type Score } from './run-stryker.ts';
import { isSampled } from './sample-checker.ts';
import { createSandbox } from './sandbox.ts';
import { listSqlMutants } from './sql-mutants.ts';
import { type SqlTarget, TARGETS } from './targets.ts';

const MIN_SCORE = 0.85;

const help = `Usage: pnpm mutate [--only NAME,NAME] [--rate 0.08] [--seed 1] [--minutes 30]

Changes the source in one place at a time and runs the tests: what no test notices is listed. Ends with 1 where fewer than
${MIN_SCORE * 100} % of the changes are noticed.

  --only NAME,NAME  only these of: ${TARGETS.map(({ name }) => name).join(', ')}
  --rate SHARE      the share of all changes that is tried; 1 for all of them, which takes hours
  --seed NUMBER     which ones
  --minutes NUMBER  a target of SQL begins no change after so many minutes
`;

async function runSql(root: string, target: SqlTarget, seed: number, rate: number, minutes: number): Promise<Score> {
  const sources = await Promise.all(target.files.map(({ file }) => readFile(join(root, file), 'utf8')));
  const mutants = target.files.flatMap(({ file, tests }, index) => {
    const source = sources[index] ?? '';
    const noticeable = listSqlMutants(source).filter((mutant) => findEquivalent(file, source, mutant) === undefined);
    return noticeable.map((mutant) => ({ file, tests, ...mutant }));
  });
  const toText = ({ file, line, start, original, replacement }: (typeof mutants)[number]) =>
    `${file}:${line} (${start}) ${JSON.stringify(original)} -> ${JSON.stringify(replacement)}`;
  const sampled = mutants.filter((mutant) => isSampled(toText(mutant), { seed, rate }));
  const score: Score = { killed: 0, survivors: [] };
  await runSqlMutants(sampled, {
    root,
    maxMs: minutes * 60_000,
    onVerdict: (mutant, verdict) => {
      if (verdict === 'killed') score.killed += 1;
      else score.survivors.push(toText(mutant));
      console.log(`${verdict.padEnd(8)} ${toText(mutant)}`);
    },
  });
  return score;
}

const toPercent = (share: number): string => `${(share * 100).toFixed(1)} %`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      rate: { type: 'string', default: '0.08' },
      seed: { type: 'string', default: '1' },
      minutes: { type: 'string', default: '30' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const [rate, seed, minutes] = [Number(values.rate), Number(values.seed), Number(values.minutes)];
  const names = values.only?.split(',');
  const unknown = names?.filter((name) => !TARGETS.some((target) => target.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`--only: unknown target ${unknown.join(', ')}; see --help`);
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interruption.abort());
  const root = await createSandbox(resolve(import.meta.dirname, '../..'));
  const runCommand = createCommandRunner({ directory: root, interruption: interruption.signal });
  let isGood = true;
  try {
    for (const target of TARGETS) {
      if (names !== undefined && !names.includes(target.name)) continue;
      if (interruption.signal.aborted) return 130;
      const { killed, survivors } =
        target.kind === 'sql'
          ? await runSql(root, target, seed, rate, minutes)
          : await runStryker({ root, runCommand }, target, { seed, rate });
      const count = killed + survivors.length;
      // If nothing was tried, there is no result.
      const score = count === 0 ? 0 : killed / count;
      if (score < MIN_SCORE) isGood = false;
      console.log(`\n${survivors.map((survivor) => `  lives  ${survivor}\n`).join('')}`);
      console.log(`${target.name}: ${killed} of ${count} noticed, ${toPercent(score)}`);
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
  return isGood ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
