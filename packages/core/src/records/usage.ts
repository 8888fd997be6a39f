import type { JsonObject } from '../lines/json.ts';
import type { RequestTokens } from './rows.ts';

/** Tokens of one API response by price class, and whatever else its price depends on. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  /** All cache writes; the two below are parts of it if the transcript distinguishes them. */
  cacheWriteTokens: number;
  cacheWrite5mTokens: number;
  cacheWrite1hTokens: number;
  webSearchRequests: number;
  webFetchRequests: number;
  thinkingTokens: number;
  serviceTier: string | null;
  speed: string | null;
  inferenceGeo: string | null;
  /**
   * Set if the response took several requests, a few at most. Each is priced by its own size; they
   * add up to the tokens above.
   */
  requests?: readonly RequestTokens[] | undefined;
}

/** True if a text can be the name of a tier, a speed or a region. One that a person put in its place is none. */
export const isTermName = (text: string): boolean => /^[a-z0-9][\w.:-]*$/i.test(text.trim());

export const NO_USAGE: Readonly<Usage> = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  webSearchRequests: 0,
  webFetchRequests: 0,
  thinkingTokens: 0,
  serviceTier: null,
  speed: null,
  inferenceGeo: null,
};

/**
 * No API response comes near it; larger figures are faults. It keeps costs in units of 1e-10 dollars exact integers,
 * even summed over hundreds of such responses.
 */
export const MAX_TOKENS_PER_FIELD = 1e8;
/**
 * For agents that keep only a session's totals, which then count as one response. Their costs stay exact integers, too.
 */
export const MAX_TOKENS_PER_SESSION = 2e9;
/** Maximum number of requests in one API response, so that sums of millions fit into Postgres' 32-bit integers. */
export const MAX_REQUESTS_PER_RESPONSE = 1000;

/**
 * The final figure of a response whose lines each carry usage (the maximum of every field). Returns `earlier` itself if
 * `later` adds nothing.
 */
export function toFinalUsage(earlier: Usage, later: Usage): Usage {
  if (isSameUsage(earlier, later)) return earlier;
  const final: Usage = {
    inputTokens: Math.max(earlier.inputTokens, later.inputTokens),
    outputTokens: Math.max(earlier.outputTokens, later.outputTokens),
    cacheReadTokens: Math.max(earlier.cacheReadTokens, later.cacheReadTokens),
    cacheWriteTokens: Math.max(earlier.cacheWriteTokens, later.cacheWriteTokens),
    cacheWrite5mTokens: Math.max(earlier.cacheWrite5mTokens, later.cacheWrite5mTokens),
    cacheWrite1hTokens: Math.max(earlier.cacheWrite1hTokens, later.cacheWrite1hTokens),
    webSearchRequests: Math.max(earlier.webSearchRequests, later.webSearchRequests),
    webFetchRequests: Math.max(earlier.webFetchRequests, later.webFetchRequests),
    thinkingTokens: Math.max(earlier.thinkingTokens, later.thinkingTokens),
    serviceTier: later.serviceTier ?? earlier.serviceTier,
    speed: later.speed ?? earlier.speed,
    inferenceGeo: later.inferenceGeo ?? earlier.inferenceGeo,
  };
  const requests = [later.requests, earlier.requests].find((each) => each !== undefined && isSumOf(final, each));
  return requests === undefined ? final : { ...final, requests };
}

/** True if the requests together have the tokens of the usage. */
export function isSumOf(usage: Usage, requests: readonly RequestTokens[]): boolean {
  return toRequestTokens(usage).every(
    (tokens, index) => tokens === requests.reduce((sum, request) => sum + (request[index] ?? 0), 0),
  );
}

/** The tokens of a usage as a single request. */
export function toRequestTokens(usage: Usage): RequestTokens {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return [
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    usage.cacheWrite5mTokens,
    usage.cacheWrite1hTokens,
  ];
}

function isSameUsage(one: Usage, other: Usage): boolean {
  return (
    one.inputTokens === other.inputTokens &&
    one.outputTokens === other.outputTokens &&
    one.cacheReadTokens === other.cacheReadTokens &&
    one.cacheWriteTokens === other.cacheWriteTokens &&
    one.cacheWrite5mTokens === other.cacheWrite5mTokens &&
    one.cacheWrite1hTokens === other.cacheWrite1hTokens &&
    one.webSearchRequests === other.webSearchRequests &&
    one.webFetchRequests === other.webFetchRequests &&
    one.thinkingTokens === other.thinkingTokens &&
    one.serviceTier === other.serviceTier &&
    one.speed === other.speed &&
    one.inferenceGeo === other.inferenceGeo &&
    one.requests === other.requests
  );
}

/**
 * The parts of a message's usage that its metadata keeps, besides the four token columns; undefined if there are none.
 */
export function toUsageMetadata(usage: Usage): JsonObject | undefined {
  const details: JsonObject = {};
  if (usage.cacheWrite5mTokens > 0) details.cache_write_5m = usage.cacheWrite5mTokens;
  if (usage.cacheWrite1hTokens > 0) details.cache_write_1h = usage.cacheWrite1hTokens;
  if (usage.webSearchRequests > 0) details.web_search_requests = usage.webSearchRequests;
  if (usage.webFetchRequests > 0) details.web_fetch_requests = usage.webFetchRequests;
  if (usage.thinkingTokens > 0) details.thinking_tokens = usage.thinkingTokens;
  if (usage.serviceTier !== null && usage.serviceTier !== 'standard') details.service_tier = usage.serviceTier;
  if (usage.speed !== null && usage.speed !== 'standard') details.speed = usage.speed;
  if (usage.inferenceGeo !== null && usage.inferenceGeo !== '' && usage.inferenceGeo !== 'not_available') {
    details.inference_geo = usage.inferenceGeo;
  }
  return Object.keys(details).length > 0 ? details : undefined;
}
