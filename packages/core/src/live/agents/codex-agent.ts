import { readObject, readText } from '../../records/fields.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';
import { createLineContext, type LineContext } from '../claude/line-context.ts';
import type { LineEvent } from '../claude/stream-event.ts';
import { toNumberField, toRequiredText } from '../coerce-fields.ts';
import type { StreamReader } from '../stream-reader.ts';
import type { StreamSummary } from '../stream-summary.ts';
import { combineTokens, NO_TOKENS, type TokenCounts } from '../token-counts.ts';
import type { AgentEvent, AgentResultEvent } from './agent-event.ts';
import { toCodexTool, toItemError, toItemOutput, toItemType, toPlanText } from './codex-items.ts';

/** No thread comes near it; larger figures are faults. */
const MAX_THREAD_TOKENS = 1e12;
/** Tool calls under way; the oldest fall out. */
const MAX_OPEN_CALLS = 1000;

/** Reads `codex exec --json`. Its lines have no times and no cost; its usage is the thread's so far. */
export function createCodexAgentReader(now: () => number): StreamReader<AgentEvent> {
  const summary: Omit<StreamSummary, 'tokens'> = {
    agentSessionId: null,
    model: null,
    tokensCover: 'session',
    reportedTokens: null,
    costUsd: null,
    lastResult: null,
    stopReason: null,
    lineCount: 0,
    warningCount: 0,
    lastActivityMs: null,
  };
  /** Of threads before this one on the same stream, and of this one. */
  let earlierTokens: TokenCounts = NO_TOKENS;
  let threadTokens: TokenCounts = NO_TOKENS;
  let lastText: string | null = null;
  const openCalls = new Map<string, number>();
  let events: AgentEvent[] = [];

  const give = (event: AgentEvent): void => {
    events.push(event);
  };
  const giveProgress = (event: LineEvent, name: string, text: string, isError = false): void =>
    give({ ...event, type: 'progress', name, text, isError });
  const warn: StreamReader<AgentEvent>['warn'] = (warning) => {
    summary.warningCount++;
    return { type: 'warning', warning };
  };

  const startThread = (line: JsonObject, { event, report }: LineContext): void => {
    const sessionId = toRequiredText(line.thread_id, 'thread_id', '', report);
    const model = readText(line.model);
    earlierTokens = combineTokens(earlierTokens, threadTokens);
    threadTokens = NO_TOKENS;
    openCalls.clear();
    summary.agentSessionId = sessionId === '' ? summary.agentSessionId : sessionId;
    summary.model ??= model;
    give({ ...event, type: 'session-start', sessionId, model, tools: [] });
  };

  const endTurn = (success: boolean, error: string | null, { event }: LineContext): void => {
    summary.lastResult = { success, error: success ? null : 'turn.failed' };
    const result: AgentResultEvent = {
      ...event,
      type: 'result',
      isComplete: true,
      success,
      text: success ? lastText : null,
      error,
      durationMs: null,
      tokens: combineTokens(earlierTokens, threadTokens),
      costUsd: null,
      costDeltaUsd: null,
    };
    lastText = null;
    give(result);
  };

  const giveToolItem = (stage: string, item: JsonObject, context: LineContext): boolean => {
    const tool = toCodexTool(item);
    if (tool === undefined) return false;
    const { event, report } = context;
    const toolId = toRequiredText(item.id, 'item.id', '', report);
    const startedMs = openCalls.get(toolId);
    if (startedMs === undefined) {
      give({ ...event, type: 'tool-start', toolId, ...tool });
      openCalls.set(toolId, event.timestampMs);
      const oldest = openCalls.size > MAX_OPEN_CALLS ? openCalls.keys().next().value : undefined;
      if (oldest !== undefined) openCalls.delete(oldest);
    }
    if (stage === 'item.updated') giveProgress(event, toItemType(item), '');
    if (stage === 'item.completed') {
      openCalls.delete(toolId);
      const durationMs = startedMs === undefined ? null : Math.max(0, event.timestampMs - startedMs);
      const output = { toolOutput: toItemOutput(item), toolError: toItemError(item), durationMs };
      give({ ...event, type: 'tool-end', toolName: tool.toolName, toolId, ...output });
    }
    return true;
  };

  const readItem = (stage: string, line: JsonObject, context: LineContext): void => {
    const { event } = context;
    const item = readObject(line.item);
    if (item === undefined) {
      context.report('missing_field', 'item');
      give({ ...event, type: 'unknown', name: stage, original: line });
      return;
    }
    const type = toItemType(item);
    const isDone = stage === 'item.completed';
    const text = readText(item.text) ?? '';
    switch (type) {
      case 'agent_message':
        if (isDone) {
          lastText = text;
          give({ ...event, type: 'text', text, wasStreamed: false });
        } else giveProgress(event, type, text);
        break;
      case 'reasoning':
        giveProgress(event, isDone ? 'thinking' : type, text);
        break;
      case 'todo_list':
        giveProgress(event, type, toPlanText(item.items));
        break;
      case 'error':
        giveProgress(event, type, readText(item.message) ?? '', true);
        break;
      default:
        if (!giveToolItem(stage, item, context)) {
          give({ ...event, type: 'unknown', name: `${stage}/${type}`, original: line });
        }
    }
  };

  const readLine = (line: JsonObject, context: LineContext): void => {
    const { event } = context;
    const type = toRequiredText(line.type, 'type', '', context.report);
    switch (type) {
      case 'thread.started':
        startThread(line, context);
        break;
      case 'turn.started':
        giveProgress(event, type, '');
        break;
      case 'item.started':
      case 'item.updated':
      case 'item.completed':
        readItem(type, line, context);
        break;
      case 'turn.completed':
        threadTokens = toThreadTokens(threadTokens, line.usage, context);
        endTurn(true, null, context);
        break;
      case 'turn.failed':
        endTurn(false, toErrorText(line) ?? type, context);
        break;
      case 'error':
        giveProgress(event, type, toErrorText(line) ?? '', true);
        break;
      default:
        give({ ...event, type: 'unknown', name: type, original: line });
    }
  };

  return {
    read(line) {
      const receivedMs = now();
      summary.lineCount++;
      summary.lastActivityMs = receivedMs;
      readLine(
        line.value,
        createLineContext(line, receivedMs, (warning) => give(warn(warning))),
      );
      const taken = events;
      events = [];
      return taken;
    },
    warn,
    finish: () => [],
    toSummary: () => ({ ...summary, tokens: combineTokens(earlierTokens, threadTokens) }),
  };
}

/** A thread's total so far: Codex counts what was cached as input as well. A line without usage changes nothing. */
function toThreadTokens(before: TokenCounts, value: JsonValue | undefined, { report }: LineContext): TokenCounts {
  const usage = readObject(value);
  if (usage === undefined) return before;
  const count = (field: string): number => {
    const path = `usage.${field}`;
    const value = toNumberField(usage[field], path, report) ?? 0;
    if (Number.isInteger(value) && value >= 0 && value <= MAX_THREAD_TOKENS) return value;
    report('invalid_field', path);
    return 0;
  };
  const cacheRead = count('cached_input_tokens');
  const now = {
    input: Math.max(0, count('input_tokens') - cacheRead),
    output: count('output_tokens'),
    cacheRead,
    cacheWrite: 0,
  };
  return combineTokens(before, now, Math.max);
}

function toErrorText(line: JsonObject): string | null {
  const error = readObject(line.error) ?? readObject(readObject(line.data)?.error);
  return readText(error?.message) ?? readText(line.message) ?? readText(line.error);
}
