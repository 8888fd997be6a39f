import {
  compare,
  compareSums,
  type Difference,
  type Expected,
  listCountable,
  sumByModel,
  type UsageByModel,
} from './compare.ts';
import { compareLive } from './compare-live.ts';
import { compareTelemetry } from './compare-telemetry.ts';
import type { Found } from './found.ts';
import type { Program } from './programs/program.ts';
import { findFiles, parseFiles } from './read-files.ts';
import { readUsage } from './read-usage.ts';
import type { SituationResult } from './run-situation.ts';
import type { Exchange } from './server/exchange.ts';
import type { Situation } from './situations.ts';
import type { Store } from './store.ts';
import type { Cell } from './table.ts';
import { createWritten, readContents } from './written.ts';

/** Reads what a program wrote in every way that recount has, and compares each with what the server answered. */
export async function compareSituation(
  program: Program,
  situation: Situation,
  { home, project, environment, runs, exchanges }: SituationResult,
  store: Store | undefined,
  hasTelemetry = false,
): Promise<Pick<Cell, 'differences' | 'unwritten' | 'onlyTelemetry'>> {
  const paths = findFiles(home, environment);
  const written = createWritten(readContents([home, project]));
  const expected: Expected = {
    agent: program.agent,
    exchanges,
    prompts: runs.map(({ turn }) => turn.prompt).filter((prompt) => prompt !== program.compactCommand),
    outputs: situation.outputs ?? [],
    isKilled: situation.turns.some(({ isKilled }) => isKilled === true),
    written,
  };
  const parsed = compare('parse', expected, await parseFiles(paths));
  const inSessions = createWritten(readContents(paths));
  const isUncounted = (exchange: Exchange): boolean =>
    exchange.outcome === 'answered' &&
    !parsed.counted.includes(exchange) &&
    inSessions.findOutput(exchange) !== undefined;
  const own = exchanges.filter((exchange) => exchange.marker === undefined && isUncounted(exchange));
  const missed = own.map(
    ({ number }): Difference => ({
      way: 'parse',
      text: `answer ${number}, to a request of the program's own, is in its sessions and not counted`,
    }),
  );
  const countable = listCountable(exchanges, [...parsed.counted, ...own], written);
  const sums = sumByModel(countable, parsed.begun);
  const isNothing = parsed.counted.length === 0 && program.keepsNoTokens !== true;
  const nothing = isNothing ? [{ way: 'parse', text: 'none of the answers is counted' }] : [];
  const differences = [
    ...nothing,
    ...parsed.differences,
    ...missed,
    ...compareSums('usage', sums, await readUsage(environment)),
    ...(store === undefined ? [] : compareStored(expected, sums, await store.upload(environment))),
    ...compareLive(program, runs),
  ];
  const unwritten = exchanges.filter((one) => one.outcome === 'answered' && !countable.includes(one));
  const result = { differences, unwritten: unwritten.map(({ number, marker }) => ({ number, marker })) };
  if (store === undefined || !hasTelemetry) return result;
  const { isKilled } = expected;
  const told = {
    isKilled,
    unwritten: unwritten.map(({ number }) => number),
    tellsNoSummaries: program.tellsNoSummaries ?? false,
  };
  const said = compareTelemetry(exchanges, await store.readTelemetry(), told);
  return {
    ...result,
    differences: [...differences, ...said.differences],
    onlyTelemetry: said.onlyTelemetry.map(({ purpose }) => purpose ?? 'no purpose'),
  };
}

/** The stored rows have the same sums as the files, including the program's own requests. */
function compareStored(expected: Expected, sums: UsageByModel, found: Found): Difference[] {
  const { differences } = compare('stored', expected, found);
  return [...differences, ...compareSums('stored', sums, sumByModel([], found.responses))];
}
