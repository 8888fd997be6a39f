import { createOldestKey } from '../ids/oldest-key.ts';
import { createRecentKeys } from '../ids/recent-keys.ts';
import type { MessageRecord } from '../records/claude-code/message-record.ts';
import { readObject } from '../records/fields.ts';
import type { ToolCall, TranscriptMessage } from '../rows.ts';
import { isApiResponse, type OpenResponse } from '../usage/open-response.ts';
import { isUniqueId } from '../usage/response-key.ts';
import type { BlockContent } from './content-blocks.ts';
import { isDenialText } from './denial.ts';
import { type ToolResult, type ToolUseFacts, toSearchCount, toSubagentId, toToolUseFacts } from './tool-use.ts';
import { SUBAGENT_TOOLS } from './transcript-totals.ts';

/** Calls whose copies within the transcript are told from them. */
const MAX_REMEMBERED_CALLS = 50_000;

export interface ToolUseOrigin {
  /** Of the block on its line. */
  index: number;
  record: MessageRecord;
  row: TranscriptMessage;
  response: OpenResponse;
  lineNumber: number;
}

export interface OpenCall {
  key: string;
  facts: ToolUseFacts;
  row: TranscriptMessage;
  response: OpenResponse;
  timestamp: string | null;
  timestampMs: number | undefined;
  lineNumber: number;
}

export interface ToolCallState {
  /** Calls that wait for their results, by the tool use's id. */
  openCalls: Map<string, OpenCall>;
  /** Results that wait for their calls. */
  openResults: Map<string, ToolResult>;
  knownKeys: Set<string>;
}

export function createToolCallState(): ToolCallState {
  return { openCalls: new Map(), openResults: new Map(), knownKeys: new Set() };
}

export interface ToolCallTracker {
  /** Takes in a tool use of an assistant line; a copy of one that is known adds nothing. */
  addUse(block: BlockContent, origin: ToolUseOrigin): void;
  /** Takes in the tool results of a line. */
  addResults(blocks: readonly BlockContent[], record: MessageRecord): void;
  /** Emits the oldest call that waits for its result, without it; false where there is none. */
  closeOldest(): boolean;
  /** Whether a tool call of the response waits for its result. */
  hasOpenCall(response: OpenResponse | undefined): boolean;
  /** Responses that the result of an open call may still change. */
  listOpenSearches(): OpenResponse[];
}

export interface ToolCallSink {
  addCall(call: ToolCall): void;
  /** A result tells of searches (perhaps none) that the response of the message `row` called for. */
  addSearches(row: TranscriptMessage, response: OpenResponse, searchCount: number): void;
}

/**
 * Matches tool uses with their results by id, whichever comes first. Of calls that wait for a result, and of results
 * that wait for a call, at most `maxOpenToolCalls` each are held: the oldest call is then emitted without a result, the
 * oldest result dropped.
 */
export function createToolCallTracker(
  { sessionId, maxOpenToolCalls }: { sessionId: string; maxOpenToolCalls: number },
  sink: ToolCallSink,
  state: ToolCallState = createToolCallState(),
): ToolCallTracker {
  const { openCalls, openResults } = state;
  const knownKeys = createRecentKeys(MAX_REMEMBERED_CALLS, state.knownKeys);

  const close = (call: OpenCall, result: ToolResult | undefined): void => {
    if (isSearch(call)) sink.addSearches(call.row, call.response, result?.searchCount ?? 0);
    sink.addCall(toToolCall(sessionId, call, result));
  };

  const oldestCall = createOldestKey(openCalls);
  const oldestResult = createOldestKey(openResults);

  const callCounts = new Map<OpenResponse, number>();
  const count = ({ response }: OpenCall, change: 1 | -1): void => {
    const callCount = (callCounts.get(response) ?? 0) + change;
    if (callCount === 0) callCounts.delete(response);
    else callCounts.set(response, callCount);
  };
  for (const call of openCalls.values()) count(call, 1);

  const takeCall = (id: string): OpenCall | undefined => {
    const call = openCalls.get(id);
    if (call === undefined) return undefined;
    openCalls.delete(id);
    count(call, -1);
    return call;
  };

  const closeOldest = (): boolean => {
    const id = oldestCall.take();
    const call = id === undefined ? undefined : takeCall(id);
    if (call === undefined) return false;
    close(call, undefined);
    return true;
  };

  const addResult = (id: string, result: ToolResult): void => {
    const call = takeCall(id);
    if (call !== undefined) {
      close(call, result);
      return;
    }
    if (knownKeys.has(id) || openResults.has(id)) return;
    openResults.set(id, result);
    if (openResults.size > maxOpenToolCalls) openResults.delete(oldestResult.take() ?? id);
    else oldestResult.pass();
  };

  return {
    addUse(block, origin) {
      const id = block.tool_use_id;
      const key = toCallKey(id, origin);
      if (!knownKeys.add(key)) return;
      const { row, response, lineNumber } = origin;
      const { timestamp, timestampMs } = origin.record;
      const call = { key, facts: toToolUseFacts(block), row, response, timestamp, timestampMs, lineNumber };
      const early = id === null ? undefined : openResults.get(id);
      if (id === null || early !== undefined) {
        if (id !== null) openResults.delete(id);
        close(call, early);
        return;
      }
      const clashing = takeCall(id);
      if (clashing !== undefined) close(clashing, undefined);
      openCalls.set(id, call);
      count(call, 1);
      if (openCalls.size > maxOpenToolCalls) closeOldest();
      else oldestCall.pass();
    },
    addResults(blocks, record) {
      const results = blocks.filter(isToolResult);
      for (const block of results) {
        if (block.tool_result_id !== null)
          addResult(block.tool_result_id, toToolResult(block, record, results.length === 1));
      }
    },
    closeOldest,
    hasOpenCall: (response) => response !== undefined && callCounts.has(response),
    listOpenSearches: () => [...openCalls.values()].filter(isSearch).map(({ response }) => response),
  };
}

function isSearch({ facts }: OpenCall): boolean {
  return facts.tool_name === 'WebSearch';
}

/** The same in every copy of the call; an id that other sessions may have as well is joined to the response's key. */
function toCallKey(id: string | null, { index, record, row, response }: ToolUseOrigin): string {
  if (id === null) return `${record.uuid ?? row.id}#${index}`;
  return isUniqueId(id) ? id : `${response.key}/${id}`;
}

/** `tool_result` and the server-side variants that stand in the assistant's own message. */
export function isToolResult(block: BlockContent): boolean {
  return (
    block.block_type === 'tool_result' || (block.tool_result_id !== null && block.block_type.endsWith('_tool_result'))
  );
}

function toToolResult(block: BlockContent, record: MessageRecord, isOnlyResult: boolean): ToolResult {
  const content = readObject(block.source?.content);
  const isErrorContent = typeof content?.type === 'string' && content.type.endsWith('_error');
  const isError = block.is_error === true || isErrorContent;
  const toolUseResult = isOnlyResult ? record.toolUseResult : undefined;
  const text = typeof block.source?.content === 'string' ? block.source.content : (block.result_text ?? '');
  return {
    timestampMs: record.timestampMs,
    isError,
    isDenied: record.metadata.toolDenialKind === undefined ? isError && isDenialText(text) : isError || isOnlyResult,
    outputBytes: block.contentBytes,
    subagentId: toSubagentId(toolUseResult),
    searchCount: toSearchCount(toolUseResult),
  };
}

function toToolCall(sessionId: string, call: OpenCall, result: ToolResult | undefined): ToolCall {
  const { facts, row, response } = call;
  return {
    call_key: call.key,
    response_key: isApiResponse(response) ? response.key : null,
    session_id: sessionId,
    message_id: row.id,
    ...facts,
    subagent_id: SUBAGENT_TOOLS.has(facts.tool_name) ? (result?.subagentId ?? null) : null,
    model: row.model,
    timestamp: call.timestamp,
    is_subagent: row.is_sidechain || row.agent_id !== null,
    duration_ms: toDuration(call.timestampMs, result?.timestampMs),
    is_error: result?.isError ?? null,
    is_denied: result?.isDenied ?? false,
    output_bytes: result?.outputBytes ?? null,
    line_number: call.lineNumber,
  };
}

/** 0 where a clock was set back. */
function toDuration(fromMs: number | undefined, toMs: number | undefined): number | null {
  return fromMs === undefined || toMs === undefined ? null : Math.max(0, toMs - fromMs);
}
