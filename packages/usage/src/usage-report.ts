import { COST_UNITS_PER_USD } from '@recount/core';
import { createPeriodNames, type LocalClock, type TimeKey } from './local-days.ts';
import type { LedgerRow, LocalLedger, SharedCopy } from './local-ledger.ts';

export const USAGE_KEYS = [
  'hour',
  'day',
  'week',
  'month',
  'agent',
  'project',
  'git_branch',
  'model',
  'session',
] as const;
export type UsageKey = (typeof USAGE_KEYS)[number];
const TIME_KEYS = new Set<string>(['hour', 'day', 'week', 'month']);

/** Which responses count. Those without a time match no time range. */
export interface UsageFilter {
  /** Milliseconds since 1970. */
  fromMs?: number | undefined;
  /** Exclusive. */
  toMs?: number | undefined;
  agent?: string | undefined;
  project?: string | undefined;
  model?: string | undefined;
  session?: string | undefined;
}

/** Tokens and cost of API responses, as in `GET /v1/analytics/usage`. */
export interface UsageFigures {
  responses: number;
  tokens_in: number;
  tokens_out: number;
  cache_read: number;
  cache_write: number;
  cache_write_1h: number;
  thinking_tokens: number;
  total_tokens: number;
  cache_hit_ratio: number | null;
  web_search_requests: number;
  /** Null if there are responses and none of them has a price. */
  cost_usd: number | null;
  unfinalised: { responses: number; tokens_out: number; estimated_tokens_out: number };
  unpriced: { responses: number; tokens: number };
  default_priced_responses: number;
}

interface UsageRow {
  sessions: number;
  own: UsageFigures;
  /** Copies of responses that are credited to another session. */
  shared: { responses: number };
}

export interface UsageReport {
  /** Figures with the values of the keys; sorted by time, then by cost, highest first. */
  rows: (UsageRow & Partial<Record<UsageKey, string | null>>)[];
  totals: UsageRow;
  unpricedModels: string[];
  /** Sessions that began in the requested time and whose usage is partly unknown. */
  sessions: { without_usage: number; output_only: number };
  /** Number of responses without a time. */
  withoutTimestamp: number;
  /** Responses whose copies disagree: their cost as it is counted, and by the cheapest and the dearest copies. */
  disagreements: { responses: number; cost_usd: number; lowest_cost_usd: number; highest_cost_usd: number };
}

/** Groups the ledger's responses by the keys and sums them up. */
export function reportUsage(
  ledger: LocalLedger,
  keys: readonly UsageKey[],
  filter: UsageFilter,
  clock: LocalClock,
): UsageReport {
  const totals = createSums();
  const groups = new Map<string | null, { values: (string | null)[]; sums: Sums }>();
  const readers = keys.map((key) => createKeyReader(key, clock));
  const unpricedModels = new Set<string>();
  let withoutTimestamp = 0;
  const disputed = { responses: 0, costUnits: 0, lowestUnits: 0, highestUnits: 0 };
  const groupOf = (row: SharedCopy): Sums => {
    const values = readers.map((read) => read(row));
    const id = values.length === 1 ? (values[0] ?? null) : JSON.stringify(values);
    let group = groups.get(id);
    if (group === undefined) {
      group = { values, sums: createSums() };
      groups.set(id, group);
    }
    return group.sums;
  };
  const anyTime = { ...filter, fromMs: undefined, toMs: undefined };
  for (const row of ledger.rows) {
    if (row.timestampMs === null && passesFilter(row, anyTime)) withoutTimestamp++;
    if (!passesFilter(row, filter)) continue;
    addResponse(totals, row);
    addResponse(groupOf(row), row);
    if (row.disagreement !== undefined) {
      disputed.responses++;
      disputed.costUnits += toUnits(row.price.costUsd);
      disputed.lowestUnits += toUnits(row.disagreement.lowestCostUsd);
      disputed.highestUnits += toUnits(row.disagreement.highestCostUsd);
    }
    if (row.price.costUsd === null) unpricedModels.add(row.model ?? 'no model');
  }
  for (const copy of ledger.shared) {
    if (!passesFilter(copy, filter)) continue;
    for (const sums of [totals, groupOf(copy)]) {
      sums.shared++;
      sums.sessions.add(copy.sessionId);
    }
  }
  // Finally by id, because threads deliver the ledger's rows in any order.
  const sorted = [...groups].sort(
    ([oneId, one], [otherId, other]) =>
      compareTimes(keys, one.values, other.values) ||
      other.sums.costUnits - one.sums.costUnits ||
      ((oneId ?? '') < (otherId ?? '') ? -1 : 1),
  );
  const rows = sorted.map(([, { values, sums }]) => ({
    ...Object.fromEntries(keys.map((key, index) => [key, values[index] ?? null])),
    ...toRow(sums),
  }));
  const lacking = ledger.incomplete.filter(({ agent, firstTimestampMs: timestampMs, ...session }) =>
    passesFilter(
      { ...session, agent: agent ?? '', timestampMs, gitBranch: null, isSubagent: false, model: null },
      filter,
    ),
  );
  const sessions = {
    without_usage: lacking.filter(({ lacks }) => lacks === 'usage').length,
    output_only: lacking.filter(({ lacks }) => lacks === 'input').length,
  };
  const disagreements = {
    responses: disputed.responses,
    cost_usd: disputed.costUnits / COST_UNITS_PER_USD,
    lowest_cost_usd: disputed.lowestUnits / COST_UNITS_PER_USD,
    highest_cost_usd: disputed.highestUnits / COST_UNITS_PER_USD,
  };
  return {
    rows,
    totals: toRow(totals),
    unpricedModels: [...unpricedModels].sort(),
    sessions,
    withoutTimestamp,
    disagreements,
  };
}

export function passesFilter(row: SharedCopy, { fromMs, toMs, agent, project, model, session }: UsageFilter): boolean {
  const { timestampMs } = row;
  if (fromMs !== undefined && (timestampMs === null || timestampMs < fromMs)) return false;
  if (toMs !== undefined && (timestampMs === null || timestampMs >= toMs)) return false;
  if (agent !== undefined && row.agent !== agent) return false;
  if (project !== undefined && row.project !== project) return false;
  if (model !== undefined && row.model !== model) return false;
  return session === undefined || row.sessionId === session;
}

function createKeyReader(key: UsageKey, clock: LocalClock): (row: SharedCopy) => string | null {
  switch (key) {
    case 'agent':
      return (row) => row.agent;
    case 'project':
      return (row) => row.project;
    case 'git_branch':
      return (row) => row.gitBranch;
    case 'model':
      return (row) => row.model;
    case 'session':
      return (row) => row.sessionId;
    default: {
      const toPeriodName = createPeriodNames(key satisfies TimeKey, clock);
      return ({ timestampMs }) => (timestampMs === null ? null : toPeriodName(timestampMs));
    }
  }
}

/** Rows without a time come last. */
function compareTimes(
  keys: readonly UsageKey[],
  one: readonly (string | null)[],
  other: readonly (string | null)[],
): number {
  for (const [index, key] of keys.entries()) {
    if (!TIME_KEYS.has(key)) continue;
    const [value, otherValue] = [one[index] ?? '~', other[index] ?? '~'];
    // Of two hours with one name, the one with the larger offset is the earlier.
    const momentsApart = key === 'hour' ? Date.parse(value) - Date.parse(otherValue) : 0;
    if (momentsApart) return momentsApart;
    if (value !== otherValue) return value < otherValue ? -1 : 1;
  }
  return 0;
}

export interface Sums {
  responses: number;
  tokensIn: number;
  tokensOut: number;
  cacheRead: number;
  cacheWrite: number;
  cacheWrite1h: number;
  thinkingTokens: number;
  webSearchRequests: number;
  /** In units of 1e-10 dollars: sums are exact up to 900,000 dollars. */
  costUnits: number;
  unfinalised: { responses: number; tokens_out: number; estimated_tokens_out: number };
  unpriced: { responses: number; tokens: number };
  defaultPriced: number;
  sessions: Set<string>;
  shared: number;
}

export function createSums(): Sums {
  return {
    responses: 0,
    tokensIn: 0,
    tokensOut: 0,
    cacheRead: 0,
    cacheWrite: 0,
    cacheWrite1h: 0,
    thinkingTokens: 0,
    webSearchRequests: 0,
    costUnits: 0,
    unfinalised: { responses: 0, tokens_out: 0, estimated_tokens_out: 0 },
    unpriced: { responses: 0, tokens: 0 },
    defaultPriced: 0,
    sessions: new Set(),
    shared: 0,
  };
}

const toUnits = (costUsd: number | null): number => Math.round((costUsd ?? 0) * COST_UNITS_PER_USD);

export function addResponse(
  sums: Sums,
  { usage, price, isUnfinalised, estimatedTokensOut, sessionId }: LedgerRow,
): void {
  sums.responses++;
  sums.tokensIn += usage.inputTokens;
  sums.tokensOut += usage.outputTokens;
  sums.cacheRead += usage.cacheReadTokens;
  sums.cacheWrite += usage.cacheWriteTokens;
  sums.cacheWrite1h += usage.cacheWrite1hTokens;
  sums.thinkingTokens += usage.thinkingTokens;
  sums.webSearchRequests += usage.webSearchRequests;
  sums.sessions.add(sessionId);
  if (price.costUsd === null) {
    sums.unpriced.responses++;
    sums.unpriced.tokens += usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  } else sums.costUnits += toUnits(price.costUsd);
  if (price.basis === 'default') sums.defaultPriced++;
  if (!isUnfinalised) return;
  sums.unfinalised.responses++;
  sums.unfinalised.tokens_out += usage.outputTokens;
  sums.unfinalised.estimated_tokens_out += estimatedTokensOut;
}

export function toFigures(sums: Sums): UsageFigures {
  const input = sums.tokensIn + sums.cacheRead + sums.cacheWrite;
  const hasCost = sums.responses === 0 || sums.unpriced.responses < sums.responses;
  return {
    responses: sums.responses,
    tokens_in: sums.tokensIn,
    tokens_out: sums.tokensOut,
    cache_read: sums.cacheRead,
    cache_write: sums.cacheWrite,
    cache_write_1h: sums.cacheWrite1h,
    thinking_tokens: sums.thinkingTokens,
    total_tokens: input + sums.tokensOut,
    cache_hit_ratio: input === 0 ? null : sums.cacheRead / input,
    web_search_requests: sums.webSearchRequests,
    cost_usd: hasCost ? sums.costUnits / COST_UNITS_PER_USD : null,
    unfinalised: sums.unfinalised,
    unpriced: sums.unpriced,
    default_priced_responses: sums.defaultPriced,
  };
}

const toRow = (sums: Sums): UsageRow => ({
  sessions: sums.sessions.size,
  own: toFigures(sums),
  shared: { responses: sums.shared },
});

/** The figures of several rows together. */
export function sumFigures(rows: readonly UsageFigures[]): UsageFigures {
  const sums = createSums();
  for (const row of rows) {
    sums.responses += row.responses;
    sums.tokensIn += row.tokens_in;
    sums.tokensOut += row.tokens_out;
    sums.cacheRead += row.cache_read;
    sums.cacheWrite += row.cache_write;
    sums.cacheWrite1h += row.cache_write_1h;
    sums.thinkingTokens += row.thinking_tokens;
    sums.webSearchRequests += row.web_search_requests;
    sums.costUnits += toUnits(row.cost_usd);
    sums.unfinalised.responses += row.unfinalised.responses;
    sums.unfinalised.tokens_out += row.unfinalised.tokens_out;
    sums.unfinalised.estimated_tokens_out += row.unfinalised.estimated_tokens_out;
    sums.unpriced.responses += row.unpriced.responses;
    sums.unpriced.tokens += row.unpriced.tokens;
    sums.defaultPriced += row.default_priced_responses;
  }
  return toFigures(sums);
}
