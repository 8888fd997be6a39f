import { MAX_REPORTED_TOKENS, readCount, readObject, readText } from '../../records/fields.ts';
import { parseTimestampMs } from '../../records/timestamps.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';
import { NO_USAGE, type Usage } from '../../usage/usage.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { toContentBlocks } from '../anthropic-api/content-blocks.ts';
import { newMessage, newToolResult, newToolUse, newUsageRecord } from '../new-records.ts';
import type { BlockContent, NoticeRecord, ToolResult, ToolUse, TranscriptRecord, UsageRecord } from '../records.ts';
import { type CodexTool, toCodexTool, toItemError, toItemOutput, toItemType, toPlanText } from './exec-items.ts';

/** Tool calls under way; the oldest fall out. */
const MAX_OPEN_CALLS = 1000;

type TimeMs = number | undefined;
type TokenField = 'inputTokens' | 'outputTokens' | 'cacheReadTokens';
type ThreadTokens = Record<TokenField, number>;

interface CodexReaderState {
  /** Of the thread so far. */
  tokens: ThreadTokens;
  openCalls: Set<string>;
  /** The last thing that the agent said in this turn. */
  lastText: string | null;
}

const NO_TOKENS: Readonly<ThreadTokens> = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 };

/** Reads `codex exec --json`. Its lines have no times and no cost; its usage is the thread's so far. */
export function createExecReader(context: ReaderContext): Reader {
  const state: CodexReaderState = { tokens: NO_TOKENS, openCalls: new Set(), lastText: null };
  const blockContext = {
    maxInlineContentBytes: context.maxInlineContentBytes,
    isUnmeasured: context.isLive === true,
    onNestingTooDeep: () => context.report('nesting_too_deep', 'warning', 'JSON nested too deep to be stored'),
    onIdentifierCut: () => context.report('identifier_truncated', 'warning', 'Identifier cut to 512 characters'),
    onInvalidContent: () => undefined,
    onTooManyBlocks: () => undefined,
  };
  const toBlocks = (block: JsonObject): BlockContent[] => toContentBlocks([block], blockContext);

  const readTool = (stage: string, item: JsonObject, timestampMs: TimeMs): TranscriptRecord[] | undefined => {
    const tool = toCodexTool(item);
    if (tool === undefined) return undefined;
    const { openCalls } = state;
    const id = readText(item.id) ?? '';
    const records: TranscriptRecord[] = [];
    if (!openCalls.has(id)) {
      const blocks = toBlocks({ type: 'tool_use', id, name: tool.toolName, input: tool.input });
      for (const block of blocks) block.toolUse = toToolUse(tool);
      records.push(newMessage('assistant', { blocks, timestampMs }));
      openCalls.add(id);
      const [oldest] = openCalls;
      if (openCalls.size > MAX_OPEN_CALLS && oldest !== undefined) openCalls.delete(oldest);
    }
    if (stage === 'item.updated') records.push(toNotice(toItemType(item), ''));
    if (stage === 'item.completed') {
      openCalls.delete(id);
      const blocks = toBlocks({
        type: 'tool_result',
        tool_use_id: id,
        content: toItemOutput(item, blockContext.onNestingTooDeep),
      });
      for (const block of blocks) block.toolResult = toToolResult(item, block, timestampMs);
      records.push(newMessage('user', { blocks, timestampMs }));
    }
    return records;
  };

  const readItem = (stage: string, line: JsonObject, timestampMs: TimeMs): TranscriptRecord[] => {
    const item = readObject(line.item);
    if (item === undefined) return [{ kind: 'unknown', type: stage, name: stage }];
    const type = toItemType(item);
    const isDone = stage === 'item.completed';
    const text = readText(item.text) ?? '';
    switch (type) {
      case 'agent_message':
        if (!isDone) return [toNotice(type, text)];
        state.lastText = text;
        return [newMessage('assistant', { blocks: toBlocks({ type: 'text', text }), timestampMs })];
      case 'reasoning':
        return [toNotice(isDone ? 'thinking' : type, text)];
      case 'todo_list':
        return [toNotice(type, toPlanText(item.items))];
      case 'error':
        return [toNotice(type, readText(item.message) ?? '', true)];
      default:
        return readTool(stage, item, timestampMs) ?? [{ kind: 'unknown', type: stage, name: `${stage}/${type}` }];
    }
  };

  const readUsage = (value: JsonValue | undefined, timestampMs: TimeMs): UsageRecord[] => {
    const usage = readObject(value);
    if (usage === undefined) return [];
    const count = (field: string): number =>
      readCount(usage[field], MAX_REPORTED_TOKENS, () =>
        context.report('invalid_usage', 'warning', `Usage field ${field} is no plausible figure`),
      ) ?? 0;
    // Codex counts what was cached as input as well.
    const cacheReadTokens = count('cached_input_tokens');
    const now: ThreadTokens = {
      inputTokens: Math.max(0, count('input_tokens') - cacheReadTokens),
      outputTokens: count('output_tokens'),
      cacheReadTokens,
    };
    const grown: Usage = { ...NO_USAGE };
    const tokens = { ...state.tokens };
    for (const field of Object.keys(now) as TokenField[]) {
      tokens[field] = Math.max(tokens[field], now[field]);
      grown[field] = tokens[field] - state.tokens[field];
    }
    state.tokens = tokens;
    return [newUsageRecord({ usage: grown, timestampMs })];
  };

  const endTurn = (success: boolean, text: string | null): TranscriptRecord => {
    state.lastText = null;
    const errorCode = success ? null : 'turn.failed';
    const nothing = { stopReason: null, durationMs: null, usage: undefined };
    return { kind: 'turn-end', success, subtype: null, errorCode, text, ...nothing };
  };

  const readLine = (type: string, line: JsonObject, timestampMs: TimeMs): TranscriptRecord[] => {
    switch (type) {
      case 'thread.started': {
        state.tokens = NO_TOKENS;
        state.openCalls.clear();
        const sessionId = readText(line.thread_id) ?? '';
        return [{ kind: 'run', sessionId, model: readText(line.model), cwd: null, version: null, tools: [] }];
      }
      case 'turn.started':
        return [toNotice(type, '')];
      case 'item.started':
      case 'item.updated':
      case 'item.completed':
        return readItem(type, line, timestampMs);
      case 'turn.completed':
        return [...readUsage(line.usage, timestampMs), endTurn(true, state.lastText)];
      case 'turn.failed':
        return [endTurn(false, toErrorText(line) ?? type)];
      case 'error':
        return [toNotice(type, toErrorText(line) ?? '', true)];
      default:
        return [{ kind: 'unknown', type, name: type }];
    }
  };

  return {
    state,
    read(line, { arrivalMs }) {
      const type = readText(line.type) ?? undefined;
      const timestampMs = parseTimestampMs(line.timestamp ?? line.timestamp_ms) ?? arrivalMs;
      const records = type === undefined ? [] : readLine(type, line, timestampMs);
      return { type, timestampMs, records };
    },
  };
}

function toNotice(name: string, text: string, isError = false): NoticeRecord {
  return { kind: 'notice', name, text, isError };
}

function toToolUse({ toolName, toolInput, kind }: CodexTool): ToolUse {
  return { ...newToolUse({ tool_name: toolName, tool_kind: kind }), summary: toolInput };
}

function toToolResult(item: JsonObject, block: BlockContent, timestampMs: number | undefined): ToolResult {
  const error = toItemError(item, block.result_text ?? '');
  return {
    ...newToolResult({ timestampMs, isError: error !== null, outputBytes: block.contentBytes }),
    isDenied: item.status === 'declined',
    ...(error !== null && { error }),
  };
}

function toErrorText(line: JsonObject): string | null {
  const error = readObject(line.error) ?? readObject(readObject(line.data)?.error);
  return readText(error?.message) ?? readText(line.message) ?? readText(line.error);
}
