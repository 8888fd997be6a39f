import type { JsonObject } from '../../lines/json.ts';
import { cutCharacters, MAX_TYPE_LENGTH } from '../../records/fields.ts';
import { listUnknownTerms } from '../reader-kit.ts';

/** Tokens as Codex counts them: `input` contains `cached` and `cacheWrite`, `output` contains `reasoning`. */
export interface CodexTokens {
  input: number;
  cached: number;
  cacheWrite: number;
  output: number;
  reasoning: number;
}

/** `TokenUsage` in openai/codex, codex-rs/protocol/src/protocol.rs, version 0.171.0. */
const COUNT_FIELDS: ReadonlySet<string> = new Set([
  ...['input_tokens', 'cached_input_tokens', 'cache_write_input_tokens'],
  ...['output_tokens', 'reasoning_output_tokens', 'total_tokens'],
]);

/** Names of counts in a usage, and tiers, that no rule reads. */
export function listUnknownCounts(usage: JsonObject, knownTerms: readonly string[] = []): string[] {
  const counts = Object.entries(usage)
    .filter(
      ([field, value]) => /tokens?$/.test(field) && typeof value === 'number' && value > 0 && !COUNT_FIELDS.has(field),
    )
    .map(([field]) => cutCharacters(field, MAX_TYPE_LENGTH));
  return [...counts, ...listUnknownTerms(usage, knownTerms)];
}

export const NO_TOKENS: Readonly<CodexTokens> = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };

export function add(a: CodexTokens, b: CodexTokens): CodexTokens {
  return combine(a, b, 1);
}

export function subtract(a: CodexTokens, b: CodexTokens): CodexTokens {
  return combine(a, b, -1);
}

function combine(a: CodexTokens, b: CodexTokens, sign: 1 | -1): CodexTokens {
  return {
    input: a.input + sign * b.input,
    cached: a.cached + sign * b.cached,
    cacheWrite: a.cacheWrite + sign * b.cacheWrite,
    output: a.output + sign * b.output,
    reasoning: a.reasoning + sign * b.reasoning,
  };
}

/** Leaves out cache writes, which some versions state only in records. */
export function toText({ input, cached, output, reasoning }: CodexTokens): string {
  return `${input}.${cached}.${output}.${reasoning}`;
}

export const isSame = (a: CodexTokens, b: CodexTokens): boolean => toText(a) === toText(b);
export const isPositive = (tokens: CodexTokens): boolean => Object.values(tokens).every((count) => count >= 0);
export const isNothing = ({ input, output }: CodexTokens): boolean => input === 0 && output === 0;
