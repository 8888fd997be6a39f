import { UNKNOWN_MODEL, type Usage } from '@recount/core';

/** What a copy of a response says of it. */
export interface ComparedCopy {
  model: string | null;
  timestampMs: number | null;
  isUnfinalised: boolean;
  /** In a recorded stream, whose lines have the times of their arrival. */
  isStream: boolean;
  usage: Usage;
  costUsd: number | null;
}

/** What a response whose copies disagree costs by the cheapest and the dearest of them. */
export interface CostRange {
  lowestCostUsd: number | null;
  highestCostUsd: number | null;
}

const MAX_TIME_APART_MS = 15 * 60_000;
const MAX_PLACEHOLDER_TOKENS_OUT = 128;
const MAX_COMPLETED_TOKENS_OUT = 200_000;
const MAX_MISSING_SEARCHES = 20;

/**
 * Compares the copies of a response by the rules of the usage ledger in Postgres (`COPY_COMPARISON` in
 * packages/db/src/usage/ledger-definition.ts), which give the reasons for the bounds. Undefined if the copies agree.
 */
export function compareCopies(copies: readonly ComparedCopy[]): CostRange | undefined {
  const finals = copies.filter((copy) => !isPlaceholder(copy));
  const placeholders = copies.filter(isPlaceholder);
  if (!areModelsDisputed(copies) && !areTimesDisputed(copies) && !areFiguresDisputed(copies, finals, placeholders)) {
    return undefined;
  }
  const finalCosts = toCosts(finals);
  const costs = toCosts(copies);
  return {
    lowestCostUsd: toMinimum(finalCosts.length > 0 ? finalCosts : costs),
    highestCostUsd: costs.length > 0 ? Math.max(...costs) : null,
  };
}

/** Streams keep output counts that a more complete copy overrules, too small to be told from short answers by themselves. */
function isPlaceholder({ isUnfinalised, isStream, usage }: ComparedCopy): boolean {
  return isUnfinalised || (isStream && usage.outputTokens <= MAX_PLACEHOLDER_TOKENS_OUT);
}

const areModelsDisputed = (copies: readonly ComparedCopy[]): boolean =>
  new Set(copies.map(({ model }) => model).filter((model) => model !== UNKNOWN_MODEL)).size > 1;

const areTimesDisputed = (copies: readonly ComparedCopy[]): boolean =>
  toSpread(copies.flatMap(({ isStream, timestampMs }) => (isStream || timestampMs === null ? [] : [timestampMs]))) >
  MAX_TIME_APART_MS;

function areFiguresDisputed(
  copies: readonly ComparedCopy[],
  finals: readonly ComparedCopy[],
  placeholders: readonly ComparedCopy[],
): boolean {
  const inputs = copies.map(({ usage }) =>
    [usage.inputTokens, usage.cacheReadTokens, usage.cacheWriteTokens, usage.cacheWrite1hTokens].join(),
  );
  const finalOutputs = finals.map(({ usage }) => usage.outputTokens);
  const placeholderOutputs = placeholders.map(({ usage }) => usage.outputTokens);
  return (
    differ(inputs) ||
    differ(placeholders.map(toTerms)) ||
    differ(finals.map(toTerms)) ||
    toSpread(copies.map(({ usage }) => usage.webSearchRequests)) > MAX_MISSING_SEARCHES ||
    differ(finalOutputs) ||
    toSpread(placeholderOutputs) > MAX_PLACEHOLDER_TOKENS_OUT ||
    (placeholders.length > 0 &&
      finals.length > 0 &&
      (Math.max(...placeholderOutputs) > Math.min(...finalOutputs) ||
        Math.max(...finalOutputs) > MAX_COMPLETED_TOKENS_OUT))
  );
}

const toTerms = ({ usage }: ComparedCopy): string =>
  JSON.stringify([usage.serviceTier, usage.speed, usage.inferenceGeo]);
const differ = (values: readonly unknown[]): boolean => new Set(values).size > 1;
const toCosts = (copies: readonly ComparedCopy[]): number[] =>
  copies.flatMap(({ costUsd }) => (costUsd === null ? [] : [costUsd]));
const toMinimum = (values: readonly number[]): number | null => (values.length > 0 ? Math.min(...values) : null);
const toSpread = (values: readonly number[]): number =>
  values.length > 0 ? Math.max(...values) - Math.min(...values) : 0;
