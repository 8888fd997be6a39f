import type { ApiResponse } from '@recount/core';
import { type Decimal, divide, ofInteger, ofUsd, subtract, toUsd } from './decimal.ts';
import type { DerivedFinding } from './derived-rows.ts';
import { compareBytes, getOrAdd, toGroupName } from './keys.ts';

/** As in `findings/select-cold-caches.ts`. */
const CACHE_LIFETIME_MS = 5 * 60_000;
const LONG_CACHE_LIFETIME_MS = 60 * 60_000;

interface TimedResponse {
  response: ApiResponse;
  timeMs: number;
}

/** The cold caches of responses that came earlier, and the last response of each of their conversations. */
export interface ColdCacheState {
  found: DerivedFinding[];
  last: Map<string, ApiResponse>;
}

export const NO_COLD_CACHES: Readonly<ColdCacheState> = { found: [], last: new Map() };

/**
 * Adds to `before` the responses of each conversation that follow a pause longer than the cache's lifetime. Undefined
 * if one of them is not later than all responses of its conversation before.
 */
export function findColdCaches(
  responses: Iterable<ApiResponse>,
  before: ColdCacheState = NO_COLD_CACHES,
): ColdCacheState | undefined {
  const conversations = new Map<string, TimedResponse[]>();
  for (const response of responses) {
    if (response.timestamp === null) continue;
    const name = toGroupName([response.is_subagent, response.agent_id ?? '']);
    getOrAdd(conversations, name, () => []).push(toTimed(response, response.timestamp));
  }
  const found = [...before.found];
  const last = new Map(before.last);
  for (const [name, conversation] of conversations) {
    conversation.sort(compareTimes);
    let previous = toTimedOrNone(last.get(name));
    for (const each of conversation) {
      if (previous !== undefined) {
        if (compareTimes(previous, each) >= 0) return undefined;
        found.push(...compare(previous, each));
      }
      previous = each;
    }
    if (previous !== undefined) last.set(name, previous.response);
  }
  return { found, last };
}

const toTimed = (response: ApiResponse, timestamp: string): TimedResponse => ({
  response,
  timeMs: Date.parse(timestamp),
});

const toTimedOrNone = (response: ApiResponse | undefined): TimedResponse | undefined =>
  response === undefined || response.timestamp === null ? undefined : toTimed(response, response.timestamp);

const compareTimes = (one: TimedResponse, other: TimedResponse): number =>
  one.timeMs - other.timeMs || compareBytes(one.response.response_key, other.response.response_key);

function compare(before: TimedResponse, { response, timeMs }: TimedResponse): DerivedFinding[] {
  const pauseMs = timeMs - before.timeMs;
  const lifetimeMs =
    Math.max(response.cache_write_1h, before.response.cache_write_1h) > 0 ? LONG_CACHE_LIFETIME_MS : CACHE_LIFETIME_MS;
  const wasCached = before.response.cache_read + before.response.cache_write;
  const tokens = Math.min(response.cache_write, wasCached - response.cache_read);
  const isSameModel = response.model !== null && response.model === before.response.model;
  if (tokens <= 0 || !isSameModel || pauseMs <= lifetimeMs) return [];
  const { is_subagent, model, git_branch, timestamp, message_id, line_number } = response;
  return [
    {
      ...{ is_subagent, model, git_branch, timestamp, message_id, line_number },
      ...{ kind: 'cold-cache', subject: model, times: 1, output_bytes: 0, tokens, pause_ms: pauseMs },
      cost_usd: toCost(tokens, response, before.response),
    },
  ];
}

function toCost(tokens: number, response: ApiResponse, before: ApiResponse): number | null {
  const writeRate = toRate(response.cost_cache_write_usd, response.cache_write);
  const readRate =
    toRate(response.cost_cache_read_usd, response.cache_read) ?? toRate(before.cost_cache_read_usd, before.cache_read);
  return writeRate === undefined || readRate === undefined ? null : toUsd(subtract(writeRate, readRate), tokens);
}

const toRate = (costUsd: number | null, tokens: number): Decimal | undefined =>
  costUsd === null || tokens === 0 ? undefined : divide(ofUsd(costUsd), ofInteger(tokens));
