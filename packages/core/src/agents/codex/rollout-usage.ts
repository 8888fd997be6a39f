import { createHash } from 'node:crypto';
import type { JsonObject } from '../../lines/json.ts';
import { MAX_REPORTED_TOKENS, readCount, readObject, readText } from '../../records/fields.ts';
import { newUsage } from '../../records/new-records.ts';
import { MAX_TOKENS_PER_FIELD, type Usage } from '../../records/usage.ts';
import { createTotalCheck, interruptTotal, observeCounted, observeTotal, type TotalCheck } from './rollout-totals.ts';
import { type CodexTokens, isNothing, isPositive, isSame, listUnknownCounts, subtract, toText } from './tokens.ts';

/** Responses of one turn that are distinguished; in longer turns the first ones are forgotten. */
const MAX_RESPONSES_PER_TURN = 10_000;

/** Facts about the responses of a turn that have the same tokens; nearly always a single one. */
interface SameTokens {
  /** Ids of those with a `token_usage_record`. */
  recordIds: string[];
  /** The thread's total after each response with a `token_count`. */
  totals: string[];
}

/** Keeps a thread's `token_count` events and `token_usage_record` lines, so that each response counts once. */
export interface UsageState {
  /** The thread's total as of the last `token_count`; null before the first. */
  total: CodexTokens | null;
  /** True if nothing since then may have reset the total. */
  isContinuous: boolean;
  hasRecords: boolean;
  /** Tokens in the context at the last response. */
  contextTokens: number | undefined;
  /** The turn that `responses` belongs to. */
  turnId: string | null;
  responses: Map<string, SameTokens>;
  /** The last record, until a `token_count` reports the same response. */
  openRecord: string | null;
  /** Hash of the thread's history, used to name its responses if turns have no ids. */
  chain: string;
  /** True if `chain` covers more than the thread's id. */
  hasHistory: boolean;
  /** The totals of `token_count` lines and of the thread's own records. */
  checks: { counts: TotalCheck; records: TotalCheck };
  /** The thread's total as of its last record. */
  recordTotal: CodexTokens | null;
}

export function createUsageState(): UsageState {
  return {
    total: null,
    isContinuous: false,
    hasRecords: false,
    contextTokens: undefined,
    turnId: null,
    responses: new Map(),
    openRecord: null,
    chain: '',
    hasHistory: false,
    checks: { counts: createTotalCheck(), records: createTotalCheck() },
    recordTotal: null,
  };
}

/** The thread's total may start again after a resume, a compaction or a roll-back. */
export function interruptTotals(state: UsageState): void {
  state.isContinuous = false;
  interruptTotal(state.checks.counts);
  interruptTotal(state.checks.records);
}

/** The facts of a line about a response. */
export interface CodexResponse {
  /** The same in every copy of the thread's history; different for every other response. */
  name: string;
  /** OpenAI's id, if the line has one. */
  providerId: string | null;
  usage: Usage;
  /** It was not counted when it ended, only included in the total of the next count. */
  isBelated: boolean;
}

/** Called for a field that is no plausible count, or, if `isUnknown`, for a count that no rule reads. */
type OnInvalid = (field: string, isUnknown?: boolean) => void;

/** Mixes a piece of the thread's history into the names of the responses after it. */
export function observeHistory(state: UsageState, text: string): void {
  state.chain = createHash('sha256').update(state.chain).update('\n').update(text).digest('hex').slice(0, 32);
  state.hasHistory = true;
}

/**
 * Sets the thread that the history belongs to (the last one named before the history begins, because forks name
 * themselves first).
 */
export function observeRoot(state: UsageState, threadId: string): void {
  if (!state.hasHistory) state.chain = createHash('sha256').update(threadId).digest('hex').slice(0, 32);
}

/**
 * The responses that a `token_count` reports. None if it repeats an earlier one; two if the thread's total grew by more
 * than the last response, because another was interrupted before it was counted.
 */
export function readTokenCount(
  state: UsageState,
  info: JsonObject,
  { turnId, isCopy }: { turnId: string | null; isCopy: boolean },
  onInvalid: OnInvalid,
): CodexResponse[] {
  const total = readTokens(info, 'total_token_usage', MAX_REPORTED_TOKENS, onInvalid);
  const last = readTokens(info, 'last_token_usage', MAX_TOKENS_PER_FIELD, onInvalid);
  const { total: before, isContinuous } = state;
  if (total === undefined && last === undefined) {
    onInvalid('info');
    return [];
  }
  if (total !== undefined) {
    if (before !== null && isSame(total, before)) return [];
    state.total = total;
    state.isContinuous = !isCopy;
  }
  const grown = total === undefined || before === null ? total : subtract(total, before);
  const tokens = last ?? (grown !== undefined && isPositive(grown) ? grown : total);
  if (tokens === undefined || isNothing(tokens)) return [];
  state.contextTokens = tokens.input + tokens.output;
  const belated =
    isContinuous && !isCopy && !state.hasRecords && before !== null && last !== undefined && grown !== undefined
      ? subtract(grown, last)
      : undefined;
  const responses: CodexResponse[] = [];
  const addResponse = (ownTurnId: string | null, counted: CodexTokens, isBelated: boolean): void => {
    const { name, isNew } = nameCount(state, ownTurnId, counted, total);
    if (isNew) observeCounted(state.checks.counts, counted);
    if (name !== undefined) responses.push({ name, providerId: null, usage: toUsage(counted), isBelated });
  };
  if (belated !== undefined && isPositive(belated) && !isNothing(belated)) addResponse(turnId, belated, true);
  const isMirror = state.openRecord === toText(tokens);
  state.openRecord = null;
  addResponse(isMirror ? state.turnId : turnId, tokens, false);
  if (total !== undefined) {
    if (isCopy || !isContinuous) interruptTotal(state.checks.counts);
    observeTotal(state.checks.counts, total, last);
    if (isCopy) interruptTotal(state.checks.counts);
  }
  return responses;
}

/**
 * The response in a `token_usage_record`, either a separate line or inside `compacted`; undefined if it has no usage.
 */
export function readUsageRecord(
  state: UsageState,
  record: JsonObject,
  { turnId, isCopy }: { turnId: string | null; isCopy: boolean },
  onInvalid: OnInvalid,
): CodexResponse | undefined {
  const tokens = readTokens(record, 'usage', MAX_TOKENS_PER_FIELD, onInvalid);
  if (tokens === undefined || isNothing(tokens)) return undefined;
  const providerId = readText(record.response_id);
  const recordTurnId = readText(record.turn_id) ?? turnId;
  if (recordTurnId === null) {
    return providerId === null ? undefined : { name: providerId, providerId, usage: toUsage(tokens), isBelated: false };
  }
  const { recordIds, totals } = findSame(state, recordTurnId, tokens);
  let index = providerId === null ? 0 : recordIds.indexOf(providerId);
  const isNew = index === -1;
  if (index === -1) index = recordIds.push(providerId ?? '') - 1;
  if (isNew && !isCopy) {
    if (index >= totals.length) observeCounted(state.checks.counts, tokens);
    observeCounted(state.checks.records, tokens);
  }
  const threadTotal = readTokens(record, 'thread_token_usage', MAX_REPORTED_TOKENS, onInvalid);
  if (threadTotal !== undefined && !isCopy) {
    if (isNew) observeTotal(state.checks.records, threadTotal, tokens);
    state.recordTotal = threadTotal;
  }
  const name = toName(recordTurnId, tokens, index);
  if (index >= totals.length) state.openRecord = toText(tokens);
  state.contextTokens = tokens.input + tokens.output;
  return { name, providerId, usage: toUsage(tokens), isBelated: false };
}

/**
 * `name` is undefined if a record has reported the response already. `isNew` means that nothing has reported it so far.
 */
function nameCount(
  state: UsageState,
  turnId: string | null,
  tokens: CodexTokens,
  total: CodexTokens | undefined,
): { name: string | undefined; isNew: boolean } {
  if (turnId === null) {
    observeHistory(state, toText(tokens));
    return { name: `codex:${state.chain}`, isNew: true };
  }
  const { totals, recordIds } = findSame(state, turnId, tokens);
  // Without a total, an identical count is a repetition.
  const totalText = total === undefined ? '' : toText(total);
  let index = totals.indexOf(totalText);
  const isRepeated = index !== -1;
  if (index === -1) index = totals.push(totalText) - 1;
  const isRecorded = index < recordIds.length;
  const name = isRecorded ? undefined : toName(turnId, tokens, index);
  return { name, isNew: !isRepeated && !isRecorded };
}

function findSame(state: UsageState, turnId: string, tokens: CodexTokens): SameTokens {
  if (turnId !== state.turnId) {
    state.turnId = turnId;
    state.responses.clear();
  }
  const { responses } = state;
  const key = toText(tokens);
  const same = responses.get(key) ?? { recordIds: [], totals: [] };
  responses.set(key, same);
  const [oldest] = responses.keys();
  if (responses.size > MAX_RESPONSES_PER_TURN && oldest !== undefined) responses.delete(oldest);
  return same;
}

/**
 * E.g. `019ed50c-a0fa-7fc3-960f-b274cd3ba498/24098.2432.389.266`. Turn ids are unique, and tokens grow within a turn.
 */
function toName(turnId: string, tokens: CodexTokens, index: number): string {
  return `${turnId}/${toText(tokens)}${index === 0 ? '' : `#${index}`}`;
}

/** The tokens in a field of `source`; undefined if it has none. */
function readTokens(source: JsonObject, place: string, max: number, onInvalid: OnInvalid): CodexTokens | undefined {
  const value = source[place];
  const usage = readObject(value);
  if (usage === undefined) {
    if (value !== undefined && value !== null) onInvalid(place);
    return undefined;
  }
  const count = (field: string): number => readCount(usage[field], max, () => onInvalid(field)) ?? 0;
  for (const field of listUnknownCounts(usage)) onInvalid(field, true);
  const input = count('input_tokens');
  const cached = count('cached_input_tokens');
  const cacheWrite = count('cache_write_input_tokens');
  if (cached + cacheWrite > input) onInvalid('cached_input_tokens');
  return { input, cached, cacheWrite, output: count('output_tokens'), reasoning: count('reasoning_output_tokens') };
}

function toUsage({ input, cached, cacheWrite, output, reasoning }: CodexTokens): Usage {
  return newUsage({
    inputTokens: Math.max(0, input - cached - cacheWrite),
    cacheReadTokens: cached,
    cacheWriteTokens: cacheWrite,
    outputTokens: output,
    thinkingTokens: reasoning,
  });
}
