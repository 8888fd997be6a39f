import type { ReaderContext } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import { add, type CodexTokens, isSame, NO_TOKENS, subtract } from './tokens.ts';

/** A running total that the lines of a thread state, compared with the responses counted between them. */
export interface TotalCheck {
  /** As the last line states it; null before the first, and where the next one may have begun anywhere. */
  stated: CodexTokens | null;
  /** Tokens of the responses that were counted since then. */
  counted: CodexTokens;
  /** By how much the total has grown more than the responses explain. */
  difference: CodexTokens;
}

export function createTotalCheck(): TotalCheck {
  return { stated: null, counted: NO_TOKENS, difference: NO_TOKENS };
}

/** Takes in a response that was counted. */
export function observeCounted(check: TotalCheck, tokens: CodexTokens): void {
  check.counted = add(check.counted, tokens);
}

/**
 * Takes in a stated total. Where it need not continue the one before (resumes, compactions, roll-backs, the inherited
 * total of a fork, a total that starts again with the last response), it is where later growth is measured from.
 */
export function observeTotal(check: TotalCheck, stated: CodexTokens, last: CodexTokens | undefined): void {
  const isRestart = last !== undefined && isSame(stated, last);
  if (check.stated !== null && !isRestart) {
    const growth = subtract(stated, check.stated);
    check.difference = add(check.difference, subtract(growth, check.counted));
  }
  check.stated = stated;
  check.counted = NO_TOKENS;
}

/** The next total may begin anywhere. */
export function interruptTotal(check: TotalCheck): void {
  check.stated = null;
}

/** `name` names the lines of the total, as in `thread`. */
export function compareTotals(
  check: TotalCheck,
  last: CodexTokens | null,
  name: string,
  context: Pick<ReaderContext, 'report'>,
): void {
  if (last === null) return;
  const { difference } = check;
  for (const [label, field] of [
    ['Input', 'input'],
    ['Cached input', 'cached'],
    ['Output', 'output'],
  ] as const) {
    compareTotal(`${label} tokens of the ${name}`, last[field], last[field] - difference[field], context);
  }
}
