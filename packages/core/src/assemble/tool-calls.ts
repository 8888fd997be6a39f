import { isUniqueId } from '../records/fields.ts';
import type { BlockContent, MessageRecord, ToolResult, ToolUse } from '../records/records.ts';
import { MAX_TOOL_DURATION_MS, type ToolCall } from '../records/rows.ts';
import type { WorkStep } from '../records/work-step.ts';
import { createOldestKey, createRecentKeys, type OldestKey, type RecentKeys } from './recent-keys.ts';

/** Calls remembered to recognise their copies within the transcript. */
const MAX_REMEMBERED_CALLS = 50_000;

interface ToolUseOrigin {
  /** Position of the block on its line. */
  index: number;
  record: MessageRecord;
  /** Id of the message that contains it. */
  messageId: string;
  /** Position of that message among the window's items. */
  position: number;
  /** Key of the response that contains it. */
  responseKey: string;
  isSubagent: boolean;
  lineNumber: number;
  step: WorkStep;
}

/** The facts that a call takes over from its message when the call is emitted. */
export type CallFacts = Pick<ToolCall, 'model' | 'response_key'>;

interface OpenCall extends Omit<ToolUseOrigin, 'index' | 'record' | 'responseKey'> {
  key: string;
  toolUse: ToolUse;
  timestamp: string | null;
  timestampMs: number | undefined;
  /** Set once no later line can change the message. */
  facts: CallFacts | undefined;
  /** Set if it came before the name of the response that made the call. */
  result: ToolResult | undefined;
}

export interface ToolCallState {
  /** Calls waiting for their results, by the tool use's id. */
  openCalls: Map<string, OpenCall>;
  /** Results waiting for their calls. */
  openResults: Map<string, ToolResult>;
  knownKeys: Set<string>;
}

export function createToolCallState(): ToolCallState {
  return { openCalls: new Map(), openResults: new Map(), knownKeys: new Set() };
}

export interface ToolCallSink {
  addCall(call: ToolCall): void;
  /** The facts that a call takes over from a message that is not final. */
  factsAt(position: number): CallFacts;
  /** True if the message's response has no name yet. */
  isUnnamedAt(position: number): boolean;
  /** Adds the searches that a result reports, at least one, to the response of the message at `position`. */
  addSearches(position: number, searchCount: number): void;
  /** Takes in the step of a call that is no copy. */
  addStep(step: WorkStep): void;
  /** Takes in that a call failed which was not denied. */
  addFailure(step: WorkStep): void;
}

interface ToolCallOptions {
  sessionId: string;
  maxOpenToolCalls: number;
  /** Called for a figure outside its bounds, which is not counted. */
  onImplausible: (name: string) => void;
}

/**
 * Matches tool uses with their results by id, whichever comes first. At most `maxOpenToolCalls` calls without results,
 * and as many results without calls, stay in memory. Beyond that, the oldest call is emitted without a result, and the
 * oldest result is dropped.
 */
export class ToolCallTracker {
  readonly #sessionId: string;
  readonly #maxOpenToolCalls: number;
  readonly #onImplausible: (name: string) => void;
  readonly #sink: ToolCallSink;
  readonly #openCalls: Map<string, OpenCall>;
  readonly #openResults: Map<string, ToolResult>;
  readonly #knownKeys: RecentKeys;
  readonly #oldestCall: OldestKey;
  readonly #oldestResult: OldestKey;

  constructor(
    { sessionId, maxOpenToolCalls, onImplausible }: ToolCallOptions,
    sink: ToolCallSink,
    state = createToolCallState(),
  ) {
    this.#sessionId = sessionId;
    this.#maxOpenToolCalls = maxOpenToolCalls;
    this.#onImplausible = onImplausible;
    this.#sink = sink;
    this.#openCalls = state.openCalls;
    this.#openResults = state.openResults;
    this.#knownKeys = createRecentKeys(MAX_REMEMBERED_CALLS, state.knownKeys);
    this.#oldestCall = createOldestKey(this.#openCalls);
    this.#oldestResult = createOldestKey(this.#openResults);
  }

  /** Takes in a tool use of an assistant line; a copy of a known one is ignored. */
  addUse(id: string | null, toolUse: ToolUse, origin: ToolUseOrigin): void {
    const key = toCallKey(id, origin);
    if (!this.#knownKeys.add(key)) return;
    this.#sink.addStep(origin.step);
    const { index: _index, record, responseKey: _responseKey, ...rest } = origin;
    const call = {
      ...rest,
      key,
      toolUse,
      timestamp: record.timestamp,
      timestampMs: record.timestampMs,
      facts: undefined,
      result: undefined,
    };
    const early = id === null ? undefined : this.#openResults.get(id);
    if (id === null || early !== undefined) {
      if (id !== null) this.#openResults.delete(id);
      if (early !== undefined) this.#addFailure(origin.step, early);
      this.#close(call, early);
      return;
    }
    const clashing = this.#takeCall(id);
    if (clashing !== undefined) this.#close(clashing);
    this.#openCalls.set(id, call);
    if (this.#openCalls.size > this.#maxOpenToolCalls) this.closeOldest();
    else this.#oldestCall.pass();
  }

  /** Takes in the tool results of a line. */
  addResults(blocks: readonly BlockContent[]): void {
    for (const { tool_result_id: id, toolResult } of blocks) {
      if (id !== null && toolResult !== undefined) this.#addResult(id, toolResult);
    }
  }

  /** Gives the open calls of a message what they take over from it, once it is final or its response has a name. */
  settleMessage(position: number, toolUseIds: readonly string[], facts: CallFacts): void {
    for (const id of toolUseIds) {
      const call = this.#openCalls.get(id);
      if (call?.position !== position) continue;
      call.facts = facts;
      if (call.result === undefined) continue;
      this.#openCalls.delete(id);
      this.#close(call);
    }
  }

  /** True if the result of an open call may count searches. */
  awaitsSearches(): boolean {
    return this.#openCalls.size > 0 && [...this.#openCalls.values()].some(({ toolUse }) => toolUse.countsSearches);
  }

  /** True if an open search belongs to a final response, so that its result can no longer count. */
  hasLateSearch(): boolean {
    return [...this.#openCalls.values()].some(({ toolUse, facts }) => toolUse.countsSearches && facts !== undefined);
  }

  #close(call: OpenCall, result = call.result): void {
    const searchCount = result?.searchCount ?? 0;
    if (call.toolUse.countsSearches && searchCount > 0) this.#sink.addSearches(call.position, searchCount);
    let durationMs = toDuration(call.timestampMs, result?.timestampMs);
    if (durationMs !== null && durationMs > MAX_TOOL_DURATION_MS) {
      this.#onImplausible('duration_ms');
      durationMs = null;
    }
    this.#sink.addCall(
      toToolCall(this.#sessionId, call, call.facts ?? this.#sink.factsAt(call.position), result, durationMs),
    );
  }

  #takeCall(id: string): OpenCall | undefined {
    const call = this.#openCalls.get(id);
    if (call === undefined) return undefined;
    this.#openCalls.delete(id);
    return call;
  }

  /** Emits the oldest open call without a result; returns false if there is none. */
  closeOldest(): boolean {
    const id = this.#oldestCall.take();
    const call = id === undefined ? undefined : this.#takeCall(id);
    if (call === undefined) return false;
    this.#close(call);
    return true;
  }

  #addFailure(step: WorkStep, { isError, isDenied }: ToolResult): void {
    if (isError && !isDenied) this.#sink.addFailure(step);
  }

  #addResult(id: string, result: ToolResult): void {
    const call = this.#openCalls.get(id);
    if (call !== undefined) {
      if (call.result === undefined) this.#addFailure(call.step, result);
      if (call.facts === undefined && this.#sink.isUnnamedAt(call.position)) call.result ??= result;
      else {
        this.#openCalls.delete(id);
        this.#close(call, call.result ?? result);
      }
      return;
    }
    if (this.#knownKeys.has(id) || this.#openResults.has(id)) return;
    this.#openResults.set(id, result);
    if (this.#openResults.size > this.#maxOpenToolCalls) this.#openResults.delete(this.#oldestResult.take() ?? id);
    else this.#oldestResult.pass();
  }
}

/** The same in every copy of the call. Ids that other sessions may also use are combined with the response's key. */
function toCallKey(id: string | null, { index, record, messageId, responseKey }: ToolUseOrigin): string {
  if (id === null) return `${record.uuid ?? messageId}#${index}`;
  return isUniqueId(id) ? id : `${responseKey}/${id}`;
}

function toToolCall(
  sessionId: string,
  call: OpenCall,
  { model, response_key }: CallFacts,
  result: ToolResult | undefined,
  durationMs: number | null,
): ToolCall {
  const { facts } = call.toolUse;
  return {
    call_key: call.key,
    response_key,
    session_id: sessionId,
    message_id: call.messageId,
    ...facts,
    subagent_id: facts.tool_kind === 'agent' ? (result?.subagentId ?? null) : null,
    model,
    timestamp: call.timestamp,
    is_subagent: call.isSubagent,
    duration_ms: durationMs,
    is_error: result?.isError ?? null,
    is_denied: result?.isDenied ?? false,
    output_bytes: result?.outputBytes ?? null,
    line_number: call.lineNumber,
  };
}

/** 0 if the clock was set back. */
function toDuration(fromMs: number | undefined, toMs: number | undefined): number | null {
  return fromMs === undefined || toMs === undefined ? null : Math.max(0, toMs - fromMs);
}
