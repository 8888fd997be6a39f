/**
 * Rules for copies of one API response, which agents write into several files when sessions are resumed, forked or
 * recorded. Each response counts once: `CREDIT_ORDER` decides which copy's session is credited, `FIGURE_ORDER` which
 * copy has the final figures, and `DISAGREEMENT_RULES` whether the copies contradict each other. SQL statements
 * (packages/db) and comparisons in JavaScript (packages/usage) are made from these tables.
 */

/** Sorts copies by one fact. Null comes last in either direction, and false before true. */
export interface OrderKey<Fact extends string> {
  fact: Fact;
  isDescending?: boolean;
}

/** Facts that decide which copy is credited. */
export type CreditFact =
  | 'isProgress'
  | 'isStream'
  | 'timestamp'
  | 'isMarkedCopy'
  | 'isSubagent'
  | 'firstTimestamp'
  | 'sessionId'
  | 'sizeBytes'
  | 'file'
  | 'entryNumber';

/**
 * Earliest copy first. Copies usually keep the original's time, so the further facts decide. None depends on when a
 * file was uploaded. Copies in a stream have times of arrival and come after copies in session files.
 */
export const CREDIT_ORDER: readonly OrderKey<CreditFact>[] = [
  { fact: 'isProgress' },
  { fact: 'isStream' },
  { fact: 'timestamp' },
  { fact: 'isMarkedCopy' },
  { fact: 'isSubagent' },
  { fact: 'firstTimestamp' },
  { fact: 'sessionId' },
  { fact: 'sizeBytes', isDescending: true },
  { fact: 'file' },
  { fact: 'entryNumber' },
];

/** Facts that decide which copy has the final figures; `inputTokens` include reads and writes of the cache. */
export type FigureFact =
  | 'isUnfinalised'
  | 'outputTokens'
  | 'inputTokens'
  | 'webSearchRequests'
  | 'isModelUnknown'
  | 'costUsd';

/** The copy written last, when the response was complete, comes first. `CREDIT_ORDER` breaks ties. */
export const FIGURE_ORDER: readonly OrderKey<FigureFact>[] = [
  { fact: 'isUnfinalised' },
  { fact: 'outputTokens', isDescending: true },
  { fact: 'inputTokens', isDescending: true },
  { fact: 'webSearchRequests', isDescending: true },
  { fact: 'isModelUnknown' },
  { fact: 'costUsd' },
];

/** Makes a comparison for `Array.sort` from an order and a function for each of its facts. */
export function toComparison<Fact extends string, Copy>(
  order: readonly OrderKey<Fact>[],
  facts: Readonly<Record<Fact, (copy: Copy) => number | string | boolean | null>>,
): (one: Copy, other: Copy) => number {
  const keys = order.map(({ fact, isDescending }) => ({ read: facts[fact], sign: isDescending ? -1 : 1 }));
  return (one, other) => {
    for (const { read, sign } of keys) {
      const value = read(one);
      const otherValue = read(other);
      if (value === otherValue) continue;
      if (value === null || otherValue === null) return value === null ? 1 : -1;
      return value < otherValue ? -sign : sign;
    }
    return 0;
  };
}

/**
 * Copies keep the original's time, or have the time of another line of the same response. In the test corpus those are
 * at most 108 s apart, and requests time out after 10 minutes.
 */
export const MAX_COPY_TIME_APART_MS = 15 * 60_000;

/** Maximum output of a streaming placeholder; the largest in the test corpus is 91. */
export const MAX_PLACEHOLDER_TOKENS_OUT = 128;

/**
 * Maximum plausible output of a response that has a placeholder in another copy. No model writes more in a response.
 */
export const MAX_COMPLETED_TOKENS_OUT = 200_000;

/** A copy that ends before the results of its searches lacks their count. */
const MAX_MISSING_SEARCHES = 20;

/**
 * Copies disagree on their figures if `fields` differ among `copies`; or, with `maxSpread`, if the largest value of
 * the only field exceeds the smallest by more.
 */
export interface DisagreementRule {
  /** Placeholders lack the final output, see `isPlaceholder`; the others are final. */
  copies: 'all' | 'placeholders' | 'finals';
  fields: readonly (
    | 'tokens_in'
    | 'tokens_out'
    | 'cache_read'
    | 'cache_write'
    | 'cache_write_1h'
    | 'web_search_requests'
    | 'service_tier'
    | 'speed'
    | 'inference_geo'
  )[];
  maxSpread?: number;
}

const TERMS = ['service_tier', 'speed', 'inference_geo'] as const;

/**
 * Rules for the figures of copies. Two more compare placeholders with finals. A placeholder has at most the output of
 * each final copy, and a final copy beside a placeholder at most `MAX_COMPLETED_TOKENS_OUT`.
 */
export const DISAGREEMENT_RULES: readonly DisagreementRule[] = [
  // Input is counted before the first output token, so even a placeholder's is right.
  { copies: 'all', fields: ['tokens_in', 'cache_read', 'cache_write', 'cache_write_1h'] },
  { copies: 'placeholders', fields: TERMS },
  { copies: 'finals', fields: TERMS },
  { copies: 'all', fields: ['web_search_requests'], maxSpread: MAX_MISSING_SEARCHES },
  { copies: 'finals', fields: ['tokens_out'] },
  { copies: 'placeholders', fields: ['tokens_out'], maxSpread: MAX_PLACEHOLDER_TOKENS_OUT },
];
