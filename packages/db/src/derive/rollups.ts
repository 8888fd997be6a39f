import {
  type ApiResponse,
  type KindOfWork,
  type SessionEvent,
  type ToolCall,
  type TranscriptMessage,
  USAGE_SUMS,
  type UsageSums,
} from '@recount/core';
import { toCostUnits } from './decimal.ts';
import type { DerivedOrigin, DerivedRows } from './derived-rows.ts';
import { getOrAdd, toBucketMs, toDayMs, toGroupName, toIso } from './keys.ts';

type ResponseKey = Pick<ApiResponse, 'model' | 'is_subagent' | 'agent_id' | 'git_branch' | 'agent_version'>;
type UsageKey = ResponseKey & { kind_of_work: KindOfWork };

interface UsageGroup {
  bucketMs: number | null;
  /** The kind of a turn is known at its end. */
  turnLine: number | null;
  key: ResponseKey;
  sums: UsageSums;
}

interface MessageGroup {
  bucketMs: number | null;
  key: { model: string | null; is_subagent: boolean };
  messages: number;
  user_messages: number;
}

/** First and last 15-minute bucket of a group; both null without times. */
interface Span {
  firstMs: number | null;
  lastMs: number | null;
}

type ToolRow = DerivedRows['toolDayRollup'][number];
type FileRow = DerivedRows['fileDayRollup'][number];

interface ToolGroup extends Span {
  row: Omit<ToolRow, 'durations'>;
  /** Bucket and duration of each timed call. Unknown buckets come last. */
  timed: [bucketMs: number, durationMs: number][];
}

interface FileGroup extends Span {
  row: FileRow;
}

/** All sums of a transcript, in plain objects. */
export interface RollupState {
  usage: Map<string, UsageGroup>;
  /** Kinds of the turns that have ended, by their first lines. */
  kinds: Map<number, KindOfWork>;
  messages: Map<string, MessageGroup>;
  tools: Map<string, ToolGroup>;
  files: Map<string, FileGroup>;
}

type RollupRows = Pick<
  DerivedRows,
  'usageRollup' | 'usageDayRollup' | 'messageRollup' | 'messageDayRollup' | 'toolDayRollup' | 'fileDayRollup'
>;

const BYTES_PER_DURATION = 6;

/** Sums a transcript's responses, messages and tool calls by 15-minute bucket and UTC day; see `schema/rollups.ts`. */
export class RollupDeriver {
  readonly #origin: DerivedOrigin;
  readonly #session: { workspace_id: string; session_id: string };
  readonly #state: RollupState;
  #touched = new Set<number | null>();
  #hasOpenTurn: boolean;

  constructor(origin: DerivedOrigin, state?: RollupState) {
    this.#origin = origin;
    this.#session = { workspace_id: origin.workspaceId, session_id: origin.sessionId };
    this.#state = state ?? {
      usage: new Map(),
      kinds: new Map(),
      messages: new Map(),
      tools: new Map(),
      files: new Map(),
    };
    this.#hasOpenTurn = state !== undefined;
  }

  /** Further sums are added to it. */
  get state(): RollupState {
    return this.#state;
  }

  /** 15-minute buckets of everything that was added; null if some had no time. */
  get touched(): Set<number | null> {
    return this.#touched;
  }

  /** The same; it forgets them. */
  takeTouched(): Set<number | null> {
    const touched = this.#touched;
    this.#touched = new Set();
    return touched;
  }

  /** Adds a response as the ledger has it, or takes it away again. */
  addResponse(response: ApiResponse, sign: 1 | -1 = 1): void {
    const { model, is_subagent, agent_id, git_branch, agent_version, turn_line: turnLine } = response;
    const bucketMs = toBucketMs(response.timestamp);
    const name = toGroupName([bucketMs, turnLine, model, is_subagent, agent_id, git_branch, agent_version]);
    const key = { model, is_subagent, agent_id, git_branch, agent_version };
    this.#touched.add(bucketMs);
    const { sums } = getOrAdd(this.#state.usage, name, () => ({ bucketMs, turnLine, key, sums: toNoSums() }));
    addSums(sums, toSums(response), sign);
    if (sums.responses === 0) this.#state.usage.delete(name);
  }

  /** Takes in a turn that has ended. The first one may have begun before the state, and touches all of its buckets. */
  addTurn({ line_number, name }: SessionEvent): void {
    this.#state.kinds.set(line_number, name as KindOfWork);
    if (!this.#hasOpenTurn) return;
    this.#hasOpenTurn = false;
    for (const { bucketMs, turnLine } of this.#state.usage.values())
      if (turnLine === line_number) this.#touched.add(bucketMs);
  }

  addMessage({ timestamp, model, is_sidechain, message_type }: TranscriptMessage): void {
    const bucketMs = toBucketMs(timestamp);
    const key = { model, is_subagent: this.#origin.isSubagent || is_sidechain };
    const name = toGroupName([bucketMs, model, key.is_subagent]);
    this.#touched.add(bucketMs);
    const group = getOrAdd(this.#state.messages, name, () => ({ bucketMs, key, messages: 0, user_messages: 0 }));
    group.messages++;
    if (message_type === 'user') group.user_messages++;
  }

  addCall(call: ToolCall): void {
    const bucketMs = toBucketMs(call.timestamp);
    this.#touched.add(bucketMs);
    this.#addToTool(call, bucketMs);
    if (call.file_path !== null) this.#addToFile(call, call.file_path, bucketMs);
  }

  #addToTool(call: ToolCall, bucketMs: number | null): void {
    const { model, is_subagent, tool_name, tool_kind, mcp_server, program, subagent_type, skill_name } = call;
    const names = [tool_name, tool_kind, mcp_server, program, subagent_type, skill_name];
    const name = toGroupName([toDayMs(bucketMs), model, is_subagent, ...names]);
    const group = getOrAdd(this.#state.tools, name, () => {
      const key = { model, is_subagent, tool_name, tool_kind, mcp_server, program, subagent_type, skill_name };
      const counts = { calls: 0, results: 0, errors: 0, denied: 0, timed_calls: 0 };
      const sums = { input_bytes: 0, output_bytes: 0, duration_ms: 0 };
      return { firstMs: bucketMs, lastMs: bucketMs, row: { ...this.#session, ...key, ...counts, ...sums }, timed: [] };
    });
    extend(group, bucketMs);
    const { row } = group;
    row.calls++;
    if (call.is_error !== null) row.results++;
    if (call.is_error === true) row.errors++;
    if (call.is_denied) row.denied++;
    row.input_bytes = (row.input_bytes ?? 0) + call.input_bytes;
    row.output_bytes = (row.output_bytes ?? 0) + (call.output_bytes ?? 0);
    if (call.duration_ms === null) return;
    row.timed_calls++;
    row.duration_ms = (row.duration_ms ?? 0) + call.duration_ms;
    group.timed.push([bucketMs ?? Number.POSITIVE_INFINITY, call.duration_ms]);
  }

  #addToFile(call: ToolCall, file_path: string, bucketMs: number | null): void {
    const { model, is_subagent } = call;
    const name = toGroupName([toDayMs(bucketMs), model, is_subagent, file_path]);
    const group = getOrAdd(this.#state.files, name, () => {
      const sums = { calls: 0, reads: 0, edits: 0, errors: 0, output_bytes: 0 };
      return { firstMs: bucketMs, lastMs: bucketMs, row: { ...this.#session, model, is_subagent, file_path, ...sums } };
    });
    extend(group, bucketMs);
    const { row } = group;
    row.calls++;
    if (call.tool_kind === 'read') row.reads++;
    else if (call.is_error !== true) row.edits++;
    if (call.is_error === true) row.errors++;
    row.output_bytes = (row.output_bytes ?? 0) + (call.output_bytes ?? 0);
  }

  /** Sums of all responses that count. */
  sumResponses(): UsageSums {
    const total = toNoSums();
    for (const { sums } of this.#state.usage.values()) addSums(total, sums);
    return total;
  }

  /** The UTC days whose totals the buckets change, as counts of sessions depend on earlier days; default all. */
  listDays(touched?: ReadonlySet<number | null>): string[] {
    const { usage, messages, tools } = this.#state;
    const buckets = [
      ...[...usage.values(), ...messages.values()].map(({ bucketMs }) => bucketMs),
      ...[...tools.values()].map(({ firstMs }) => firstMs),
    ];
    const touchedDays = Array.from(touched ?? [0], (bucketMs) => toDayMs(bucketMs) ?? Number.POSITIVE_INFINITY);
    const firstMs = Math.min(...touchedDays);
    const days = new Set([
      ...(touched === undefined ? [] : touchedDays),
      ...buckets.map((bucketMs) => toDayMs(bucketMs) ?? -1),
    ]);
    return [...days]
      .filter((dayMs) => dayMs >= firstMs && Number.isFinite(dayMs))
      .flatMap((dayMs) => toIso(dayMs) ?? []);
  }

  /** The rows of the given 15-minute buckets, of the UTC days that they are in, and those without a time; default all. */
  toRows(buckets?: ReadonlySet<number | null>): RollupRows {
    const { messages, tools, files } = this.#state;
    const days = buckets && new Set(Array.from(buckets, toDayMs));
    const isWanted = ({ bucketMs }: { bucketMs: number | null }): boolean =>
      bucketMs === null || (buckets?.has(bucketMs) ?? true);
    const isOnDay = (bucketMs: number | null): boolean => bucketMs === null || (days?.has(toDayMs(bucketMs)) ?? true);
    return {
      usageRollup: this.#toUsageBuckets(isWanted),
      usageDayRollup: this.#toUsageDays(isOnDay),
      messageRollup: [...messages.values()].filter(isWanted).map(({ bucketMs, key, ...counts }) => ({
        ...this.#session,
        bucket_start: toIso(bucketMs),
        ...key,
        ...counts,
      })),
      messageDayRollup: this.#toMessageDays(isOnDay),
      toolDayRollup: [...tools.values()]
        .filter(({ firstMs }) => isOnDay(firstMs))
        .map(({ row, timed, ...span }) => ({
          ...row,
          ...toSpanColumns(span),
          durations: toDurations(timed),
        })),
      fileDayRollup: [...files.values()]
        .filter(({ firstMs }) => isOnDay(firstMs))
        .map(({ row, ...span }) => ({ ...row, ...toSpanColumns(span) })),
    };
  }

  #toKey({ key, turnLine }: UsageGroup): UsageKey {
    return { ...key, kind_of_work: this.#state.kinds.get(turnLine ?? -1) ?? 'unknown' };
  }

  #toUsageBuckets(isWanted: (group: UsageGroup) => boolean): DerivedRows['usageRollup'] {
    const buckets = new Map<string, { bucketMs: number | null; key: UsageKey; sums: UsageSums }>();
    for (const group of this.#state.usage.values()) {
      if (!isWanted(group)) continue;
      const { bucketMs, sums } = group;
      const key = this.#toKey(group);
      const name = toGroupName([bucketMs, ...Object.values(key)]);
      addSums(getOrAdd(buckets, name, () => ({ bucketMs, key, sums: toNoSums() })).sums, sums);
    }
    return [...buckets.values()].map(({ bucketMs, key, sums }) => ({
      ...this.#session,
      bucket_start: toIso(bucketMs),
      ...toUsageColumns(key, sums),
    }));
  }

  #toUsageDays(isWanted: (bucketMs: number | null) => boolean): DerivedRows['usageDayRollup'] {
    const days = new Map<string, Span & { key: UsageKey; sums: UsageSums }>();
    for (const group of this.#state.usage.values()) {
      const { bucketMs, sums } = group;
      if (!isWanted(bucketMs)) continue;
      const key = this.#toKey(group);
      const name = toGroupName([toDayMs(bucketMs), ...Object.values(key)]);
      const day = getOrAdd(days, name, () => ({ firstMs: bucketMs, lastMs: bucketMs, key, sums: toNoSums() }));
      extend(day, bucketMs);
      addSums(day.sums, sums);
    }
    return [...days.values()].map(({ key, sums, ...span }) => ({
      ...this.#session,
      ...toSpanColumns(span),
      ...toUsageColumns(key, sums),
    }));
  }

  #toMessageDays(isWanted: (bucketMs: number | null) => boolean): DerivedRows['messageDayRollup'] {
    const days = new Map<string, Span & { is_subagent: boolean; messages: number; user_messages: number }>();
    for (const { bucketMs, key, messages, user_messages } of this.#state.messages.values()) {
      if (!isWanted(bucketMs)) continue;
      const { is_subagent } = key;
      const name = toGroupName([toDayMs(bucketMs), is_subagent]);
      const counts = { messages: 0, user_messages: 0 };
      const day = getOrAdd(days, name, () => ({ firstMs: bucketMs, lastMs: bucketMs, is_subagent, ...counts }));
      extend(day, bucketMs);
      day.messages += messages;
      day.user_messages += user_messages;
    }
    return [...days.values()].map(({ firstMs, lastMs, ...counts }) => ({
      ...this.#session,
      ...toSpanColumns({ firstMs, lastMs }),
      ...counts,
    }));
  }
}

function extend(span: Span, bucketMs: number | null): void {
  if (bucketMs === null) return;
  if (span.firstMs === null || bucketMs < span.firstMs) span.firstMs = bucketMs;
  if (span.lastMs === null || bucketMs > span.lastMs) span.lastMs = bucketMs;
}

const toSpanColumns = ({ firstMs, lastMs }: Span) => ({
  first_bucket_start: toIso(firstMs),
  last_bucket_start: toIso(lastMs),
});

const NO_SUMS = Object.fromEntries(USAGE_SUMS.map((name) => [name, 0])) as UsageSums;

const toNoSums = (): UsageSums => ({ ...NO_SUMS });

function addSums(sums: UsageSums, added: UsageSums, sign: 1 | -1 = 1): void {
  for (const name of USAGE_SUMS) sums[name] += sign * added[name];
}

function toSums(response: ApiResponse): UsageSums {
  const { tokens_in, tokens_out, cache_read, cache_write, is_unfinalised, price_basis } = response;
  const isUnpriced = price_basis === 'unpriced';
  return {
    ...{ tokens_in, tokens_out, cache_read, cache_write },
    responses: 1,
    cache_write_1h: response.cache_write_1h,
    thinking_tokens: response.thinking_tokens,
    web_search_requests: response.web_search_requests,
    unfinalised_responses: is_unfinalised ? 1 : 0,
    unfinalised_tokens_out: is_unfinalised ? tokens_out : 0,
    estimated_tokens_out: is_unfinalised ? (response.estimated_tokens_out ?? 0) : 0,
    unpriced_responses: isUnpriced ? 1 : 0,
    unpriced_tokens: isUnpriced ? tokens_in + tokens_out + cache_read + cache_write : 0,
    default_priced_responses: price_basis === 'default' ? 1 : 0,
    cost_units: toCostUnits(response.cost_usd ?? 0),
    cost_input_units: toCostUnits(response.cost_input_usd ?? 0),
    cost_output_units: toCostUnits(response.cost_output_usd ?? 0),
    cost_cache_read_units: toCostUnits(response.cost_cache_read_usd ?? 0),
    cost_cache_write_units: toCostUnits(response.cost_cache_write_usd ?? 0),
    cost_web_search_units: toCostUnits(response.cost_web_search_usd ?? 0),
  };
}

/** Sums of costs are decimals of any size in Postgres. */
function toUsageColumns(key: UsageKey, sums: UsageSums) {
  return {
    ...key,
    is_shared: false,
    ...sums,
    cost_units: `${sums.cost_units}`,
    cost_input_units: `${sums.cost_input_units}`,
    cost_output_units: `${sums.cost_output_units}`,
    cost_cache_read_units: `${sums.cost_cache_read_units}`,
    cost_cache_write_units: `${sums.cost_cache_write_units}`,
    cost_web_search_units: `${sums.cost_web_search_units}`,
  };
}

function toDurations(timed: readonly [bucketMs: number, durationMs: number][]): Uint8Array {
  // Infinity minus itself is no number.
  const sorted = timed.toSorted(([one, ms], [other, otherMs]) => (one === other ? ms - otherMs : one - other));
  const bytes = Buffer.alloc(sorted.length * BYTES_PER_DURATION);
  for (const [index, [, durationMs]] of sorted.entries()) {
    bytes.writeUIntBE(durationMs, index * BYTES_PER_DURATION, BYTES_PER_DURATION);
  }
  return bytes;
}
