import { compare, compareSums, type Difference, type Expected, listCountable, sumByModel } from './compare.ts';
import { compareLive } from './compare-live.ts';
import type { Program } from './programs/program.ts';
import { findFiles, findUncounted, parseFiles } from './read-files.ts';
import { readUsage } from './read-usage.ts';
import type { SituationResult } from './run-situation.ts';
import type { Situation } from './situations.ts';
import type { Store } from './store.ts';

/** Reads what a program wrote in every way that recount has, and compares each with what the server answered. */
export async function compareSituation(
  program: Program,
  situation: Situation,
  { home, environment, runs, exchanges }: SituationResult,
  store: Store | undefined,
): Promise<{ differences: Difference[]; unwritten: number }> {
  const expected: Expected = {
    agent: program.agent,
    exchanges,
    prompts: runs.map(({ turn }) => turn.prompt).filter((prompt) => prompt !== program.compactCommand),
    outputs: situation.outputs ?? [],
    isKilled: situation.turns.some(({ isKilled }) => isKilled === true),
  };
  const paths = findFiles(home, environment);
  const parsed = compare('parse', expected, await parseFiles(paths));
  const uncounted = findUncounted(paths, exchanges, parsed.counted);
  const missed = uncounted.map(
    ({ number, marker }): Difference => ({
      way: 'parse',
      text: `answer ${number} (to ${marker ?? 'a request of the program'}) is in the files and not counted`,
    }),
  );
  const sums = sumByModel(listCountable(exchanges, [...parsed.counted, ...uncounted]));
  const differences = [
    ...parsed.differences,
    ...missed,
    ...compareSums('usage', sums, await readUsage(environment)),
    ...(store === undefined ? [] : compare('stored', expected, await store.upload(environment)).differences),
    ...compareLive(program, runs),
  ];
  const written = new Set([...parsed.counted, ...uncounted]);
  return { differences, unwritten: exchanges.filter((one) => one.outcome === 'answered' && !written.has(one)).length };
}
