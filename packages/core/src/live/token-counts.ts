import { toFinalUsage, type Usage } from '../usage/usage.ts';

/** Tokens as Anthropic's API counts them: `input` without what was read from or written to the cache. */
export interface TokenCounts {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

export const NO_TOKENS: Readonly<TokenCounts> = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export function toTokenCounts(usage: Usage): TokenCounts {
  return {
    input: usage.inputTokens,
    output: usage.outputTokens,
    cacheRead: usage.cacheReadTokens,
    cacheWrite: usage.cacheWriteTokens,
  };
}

export function combineTokens(
  a: TokenCounts,
  b: TokenCounts,
  combine: (a: number, b: number) => number = (x, y) => x + y,
): TokenCounts {
  return {
    input: combine(a.input, b.input),
    output: combine(a.output, b.output),
    cacheRead: combine(a.cacheRead, b.cacheRead),
    cacheWrite: combine(a.cacheWrite, b.cacheWrite),
  };
}

export interface TokenAccumulator {
  /** Takes note of the usage on one line of a response, and gives the response's final figure so far. */
  add(key: string | null, usage: Usage): { counts: TokenCounts; isFirst: boolean };
  readonly total: TokenCounts;
}

/** Responses whose later lines still count as theirs; those of one response lie close together. */
const MAX_OPEN_MESSAGES = 10_000;

/** Counts every response once, however many lines carry its id and usage; without a key each line is a response. */
export function createTokenAccumulator(): TokenAccumulator {
  const open = new Map<string, Usage>();
  let total: TokenCounts = NO_TOKENS;
  return {
    add(key, usage) {
      const before = key === null ? undefined : open.get(key);
      const after = before === undefined ? usage : toFinalUsage(before, usage);
      if (key !== null) {
        open.delete(key);
        open.set(key, after);
        const oldest = open.size > MAX_OPEN_MESSAGES ? open.keys().next().value : undefined;
        if (oldest !== undefined) open.delete(oldest);
      }
      const counts = toTokenCounts(after);
      const grown = before === undefined ? counts : combineTokens(counts, toTokenCounts(before), (a, b) => a - b);
      total = combineTokens(total, grown);
      return { counts, isFirst: before === undefined };
    },
    get total() {
      return total;
    },
  };
}
