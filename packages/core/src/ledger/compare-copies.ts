import { UNKNOWN_MODEL } from '../records/rows.ts';
import type { Usage } from '../records/usage.ts';
import {
  DISAGREEMENT_RULES,
  type DisagreementRule,
  MAX_COMPLETED_TOKENS_OUT,
  MAX_COPY_TIME_APART_MS,
  MAX_PLACEHOLDER_TOKENS_OUT,
} from './copy-rules.ts';

/** The facts of a response in one copy. */
export interface ComparedCopy {
  model: string | null;
  timestampMs: number | null;
  isUnfinalised: boolean;
  /** In a recorded stream, whose lines have the times of their arrival. */
  isStream: boolean;
  usage: Usage;
  costUsd: number | null;
}

/** The facts that the copies of a response disagree about, and its cost by the cheapest and the most expensive copy. */
export interface CopyDisagreement {
  /** In this order, see packages/db's `DISAGREEMENTS`. */
  facts: ('model' | 'time' | 'figures')[];
  lowestCostUsd: number | null;
  highestCostUsd: number | null;
}

/**
 * Compares the copies of a response by the rules that the usage ledger in Postgres uses as well. Undefined if the copies
 * agree.
 */
export function compareCopies(copies: readonly ComparedCopy[]): CopyDisagreement | undefined {
  const finals = copies.filter((copy) => !isPlaceholder(copy));
  const placeholders = copies.filter(isPlaceholder);
  const facts: CopyDisagreement['facts'] = [];
  if (areModelsDisputed(copies)) facts.push('model');
  if (areTimesDisputed(copies)) facts.push('time');
  if (areFiguresDisputed(copies, finals, placeholders)) facts.push('figures');
  if (facts.length === 0) return undefined;
  const finalCosts = toCosts(finals);
  const costs = toCosts(copies);
  return {
    facts,
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
  MAX_COPY_TIME_APART_MS;

function areFiguresDisputed(
  copies: readonly ComparedCopy[],
  finals: readonly ComparedCopy[],
  placeholders: readonly ComparedCopy[],
): boolean {
  const groups = { all: copies, placeholders, finals };
  const finalOutputs = finals.map(({ usage }) => usage.outputTokens);
  const placeholderOutputs = placeholders.map(({ usage }) => usage.outputTokens);
  return (
    DISAGREEMENT_RULES.some((rule) => breaks(rule, groups[rule.copies])) ||
    (placeholders.length > 0 &&
      finals.length > 0 &&
      (Math.max(...placeholderOutputs) > Math.min(...finalOutputs) ||
        Math.max(...finalOutputs) > MAX_COMPLETED_TOKENS_OUT))
  );
}

const FIELDS = {
  tokens_in: 'inputTokens',
  tokens_out: 'outputTokens',
  cache_read: 'cacheReadTokens',
  cache_write: 'cacheWriteTokens',
  cache_write_1h: 'cacheWrite1hTokens',
  web_search_requests: 'webSearchRequests',
  service_tier: 'serviceTier',
  speed: 'speed',
  inference_geo: 'inferenceGeo',
} as const satisfies Readonly<Record<DisagreementRule['fields'][number], keyof Usage>>;

function breaks({ fields, maxSpread }: DisagreementRule, copies: readonly ComparedCopy[]): boolean {
  const values = copies.map(({ usage }) => fields.map((field) => usage[FIELDS[field]]));
  if (maxSpread === undefined) return new Set(values.map((each) => JSON.stringify(each))).size > 1;
  return toSpread(values.map(([value]) => Number(value))) > maxSpread;
}

const toCosts = (copies: readonly ComparedCopy[]): number[] =>
  copies.flatMap(({ costUsd }) => (costUsd === null ? [] : [costUsd]));
const toMinimum = (values: readonly number[]): number | null => (values.length > 0 ? Math.min(...values) : null);
const toSpread = (values: readonly number[]): number =>
  values.length > 0 ? Math.max(...values) - Math.min(...values) : 0;
