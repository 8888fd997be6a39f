import type { BlockContent, MessageRecord, ToolResult, ToolUse } from '../agents/records.ts';
import { createOldestKey, createRecentKeys } from '../ids/recent-keys.ts';
import type { ToolCall } from '../rows.ts';
import { isUniqueId } from '../usage/open-response.ts';

/** Programs stand at the beginning; scripts of megabytes are not read for them. */
const MAX_COMMAND_LENGTH = 4096;
const MAX_PROGRAM_LENGTH = 512;

/** What most commands begin with: a bare word. */
const PLAIN_PROGRAM = /^[\w.-]+(?= |$)/;
const COMMENT_LINE = /^[ \t]*#.*$/gm;
const ASSIGNMENT = /^[A-Za-z_]\w*=/;
/** A word with its quoted parts, or an operator. */
const TOKEN = /(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s;&|<>()"'\\])+|[;&|\n()]/gs;
const COMMAND_END = /^[;&|\n]$/;

/**
 * The first program of a shell command, without its path; null if there is none. Assignments, `sudo` with its flags,
 * comment lines, parentheses and a leading `cd` are passed over: `cd /srv && A=1 sudo /usr/bin/git log` is `git`. `cd`
 * alone is `cd`. Nothing is expanded, and a keyword such as `for` counts as a program.
 */
export function toShellProgram(command: string): string | null {
  const plain = PLAIN_PROGRAM.exec(command)?.[0];
  if (plain !== undefined && plain !== 'cd' && plain !== 'sudo') return plain.slice(0, MAX_PROGRAM_LENGTH);
  let passedOver: string | null = null;
  let isInArguments = false;
  for (const [token] of command.slice(0, MAX_COMMAND_LENGTH).replaceAll(COMMENT_LINE, '').matchAll(TOKEN)) {
    if (COMMAND_END.test(token)) isInArguments = false;
    if (isInArguments || /^[;&|\n()]$/.test(token) || ASSIGNMENT.test(token)) continue;
    if (passedOver === 'sudo' && token.startsWith('-')) continue;
    const name = toBaseName(token);
    if (name !== '' && name !== 'cd' && name !== 'sudo') return name;
    passedOver = name || passedOver;
    isInArguments = name === 'cd';
  }
  return passedOver;
}

function toBaseName(word: string): string {
  const path = word.replaceAll(/["']/g, '').replace(/\/+$/, '');
  return path.slice(path.lastIndexOf('/') + 1, MAX_COMMAND_LENGTH).slice(0, MAX_PROGRAM_LENGTH);
}

/** Calls whose copies within the transcript are told from them. */
const MAX_REMEMBERED_CALLS = 50_000;
/** 30 days. Somebody may have been asked before the holidays; more is a clock that was wrong. */
export const MAX_TOOL_DURATION_MS = 30 * 24 * 60 * 60_000;

interface ToolUseOrigin {
  /** Position of the block on its line. */
  index: number;
  record: MessageRecord;
  /** Id of the message that it stands in. */
  messageId: string;
  /** Position of that message among the items of the window. */
  position: number;
  /** Key of the response that it stands in. */
  responseKey: string;
  isSubagent: boolean;
  lineNumber: number;
}

/** What a call takes over from its message, as it is when the call is emitted. */
export type CallFacts = Pick<ToolCall, 'model' | 'response_key'>;

interface OpenCall extends Omit<ToolUseOrigin, 'index' | 'record' | 'responseKey'> {
  key: string;
  toolUse: ToolUse;
  timestamp: string | null;
  timestampMs: number | undefined;
  /** Known once no later line can change the message. */
  facts: CallFacts | undefined;
  /** Came before the name of the response that made the call. */
  result: ToolResult | undefined;
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

interface ToolCallTracker {
  /** Takes in a tool use of an assistant line; a copy of one that is known adds nothing. */
  addUse(id: string | null, toolUse: ToolUse, origin: ToolUseOrigin): void;
  /** Takes in the tool results of a line. */
  addResults(blocks: readonly BlockContent[]): void;
  /** Emits the oldest call that waits for its result, without it; false if there is none. */
  closeOldest(): boolean;
  /** Tells the open calls of a message that is final, or whose response has got its name, what they take over from it. */
  settleMessage(position: number, toolUseIds: readonly string[], facts: CallFacts): void;
  /** Whether the result of a call that is under way may count searches. */
  awaitsSearches(): boolean;
  /** Whether a search is under way whose response is final, so that its result cannot count any more. */
  hasLateSearch(): boolean;
}

export interface ToolCallSink {
  addCall(call: ToolCall): void;
  /** What a call takes over from a message that is not final. */
  factsAt(position: number): CallFacts;
  /** Whether the name of the message's response is still to come. */
  isUnnamedAt(position: number): boolean;
  /** A result says how many searches were made for the response of the message at `position`: at least one. */
  addSearches(position: number, searchCount: number): void;
}

interface ToolCallOptions {
  sessionId: string;
  maxOpenToolCalls: number;
  /** Called for a figure that is beyond its bound and does not count. */
  onImplausible: (name: string) => void;
}

/**
 * Matches tool uses with their results by id, whichever comes first. Of calls that wait for a result, and of results
 * that wait for a call, at most `maxOpenToolCalls` each are held: the oldest call is then emitted without a result, the
 * oldest result dropped.
 */
export function createToolCallTracker(
  { sessionId, maxOpenToolCalls, onImplausible }: ToolCallOptions,
  sink: ToolCallSink,
  state: ToolCallState = createToolCallState(),
): ToolCallTracker {
  const { openCalls, openResults } = state;
  const knownKeys = createRecentKeys(MAX_REMEMBERED_CALLS, state.knownKeys);

  const close = (call: OpenCall, result = call.result): void => {
    const searchCount = result?.searchCount ?? 0;
    if (call.toolUse.countsSearches && searchCount > 0) sink.addSearches(call.position, searchCount);
    let durationMs = toDuration(call.timestampMs, result?.timestampMs);
    if (durationMs !== null && durationMs > MAX_TOOL_DURATION_MS) {
      onImplausible('duration_ms');
      durationMs = null;
    }
    sink.addCall(toToolCall(sessionId, call, call.facts ?? sink.factsAt(call.position), result, durationMs));
  };

  const oldestCall = createOldestKey(openCalls);
  const oldestResult = createOldestKey(openResults);

  const takeCall = (id: string): OpenCall | undefined => {
    const call = openCalls.get(id);
    if (call === undefined) return undefined;
    openCalls.delete(id);
    return call;
  };

  const closeOldest = (): boolean => {
    const id = oldestCall.take();
    const call = id === undefined ? undefined : takeCall(id);
    if (call === undefined) return false;
    close(call);
    return true;
  };

  const addResult = (id: string, result: ToolResult): void => {
    const call = openCalls.get(id);
    if (call !== undefined) {
      if (call.facts === undefined && sink.isUnnamedAt(call.position)) call.result ??= result;
      else {
        openCalls.delete(id);
        close(call, call.result ?? result);
      }
      return;
    }
    if (knownKeys.has(id) || openResults.has(id)) return;
    openResults.set(id, result);
    if (openResults.size > maxOpenToolCalls) openResults.delete(oldestResult.take() ?? id);
    else oldestResult.pass();
  };

  return {
    addUse(id, toolUse, origin) {
      const key = toCallKey(id, origin);
      if (!knownKeys.add(key)) return;
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
      const early = id === null ? undefined : openResults.get(id);
      if (id === null || early !== undefined) {
        if (id !== null) openResults.delete(id);
        close(call, early);
        return;
      }
      const clashing = takeCall(id);
      if (clashing !== undefined) close(clashing);
      openCalls.set(id, call);
      if (openCalls.size > maxOpenToolCalls) closeOldest();
      else oldestCall.pass();
    },
    addResults(blocks) {
      for (const { tool_result_id: id, toolResult } of blocks) {
        if (id !== null && toolResult !== undefined) addResult(id, toolResult);
      }
    },
    closeOldest,
    settleMessage(position, toolUseIds, facts) {
      for (const id of toolUseIds) {
        const call = openCalls.get(id);
        if (call?.position !== position) continue;
        call.facts = facts;
        if (call.result === undefined) continue;
        openCalls.delete(id);
        close(call);
      }
    },
    awaitsSearches: () => openCalls.size > 0 && [...openCalls.values()].some(({ toolUse }) => toolUse.countsSearches),
    hasLateSearch: () =>
      [...openCalls.values()].some(({ toolUse, facts }) => toolUse.countsSearches && facts !== undefined),
  };
}

/** The same in every copy of the call; an id that other sessions may have as well is joined to the response's key. */
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

/** 0 if a clock was set back. */
function toDuration(fromMs: number | undefined, toMs: number | undefined): number | null {
  return fromMs === undefined || toMs === undefined ? null : Math.max(0, toMs - fromMs);
}
