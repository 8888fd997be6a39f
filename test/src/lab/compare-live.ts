import { type Difference, describeTokens } from './compare.ts';
import type { Program } from './programs/program.ts';
import { readLive } from './read-live.ts';
import type { SituationRun } from './run-situation.ts';
import type { Exchange } from './server/exchange.ts';
import { CHILD_PREFIX } from './situations.ts';

const CLASSES = ['input', 'cacheRead', 'cacheWrite', 'output'] as const;

/** Compares what each start of a program printed with what the server answered to it. */
export function compareLive(
  { liveAgent, isLiveWithoutSubagents = false }: Program,
  runs: readonly SituationRun[],
): Difference[] {
  if (liveAgent === undefined) return [];
  const texts: string[] = [];
  for (const [index, run] of runs.entries()) {
    const { tokens, coversSession, texts: shown, callIds, warnings } = readLive(liveAgent, run.stdout);
    const answered = run.exchanges.filter(({ outcome }) => outcome === 'answered');
    const start = `start ${index + 1}`;
    // A killed program has not said what it used.
    if (run.turn.isKilled !== true) {
      const counted = coversSession ? listSession(runs, index).flatMap(({ exchanges }) => exchanges) : answered;
      const shownOnes = counted.filter(
        ({ outcome, marker }) =>
          outcome === 'answered' && !(isLiveWithoutSubagents && marker?.startsWith(CHILD_PREFIX)),
      );
      const right = describeTokens(sum(shownOnes));
      if (right !== describeTokens(tokens)) texts.push(`${start}: ${right}, found ${describeTokens(tokens)}`);
    }
    // Programs print little of their sub-agents.
    const own = answered.filter(({ marker }) => marker !== undefined && run.turn.prompt.includes(marker));
    for (const { number, marker, text, calls } of own) {
      const count = shown.filter((each) => each.trim() === text).length;
      if (text !== '' && count !== 1)
        texts.push(`${start}: text of answer ${number} to ${marker} is shown ${count} times`);
      for (const call of calls) {
        // Codex prints separate ids.
        const times = callIds.filter((id) => id === call.id).length;
        if (times !== 1 && run.stdout.includes(call.id))
          texts.push(`${start}: call ${call.name} of answer ${number} is shown ${times} times`);
      }
    }
    texts.push(...warnings.map((code) => `${start}: warning ${code}`));
  }
  return texts.map((text) => ({ way: 'live', text }));
}

/** The starts that a session consists of up to this one. Forks go other ways. */
const listSession = (runs: readonly SituationRun[], last: number): SituationRun[] =>
  runs.filter(({ turn }, index) => index === last || (index < last && turn.start !== 'fork'));

function sum(exchanges: readonly Exchange[]): Record<(typeof CLASSES)[number], number> {
  const total = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
  for (const { tokens } of exchanges) for (const name of CLASSES) total[name] += tokens[name];
  return total;
}
