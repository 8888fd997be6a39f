import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, MAX_TYPE_LENGTH, readObject, readText } from '../../records/fields.ts';
import { newMessage, newToolUse, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, NoticeRecord, TranscriptRecord } from '../../records/records.ts';
import { parseTimestampMs } from '../../records/timestamps.ts';
import { MAX_TOKENS_PER_SESSION, type Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import { createReaderKit, readType, toSessionRecord, toUsageIfAny } from '../reader-kit.ts';
import { toShellProgram } from '../shell-program.ts';
import { newUnknown } from '../unread-lines.ts';
import { toCodexTool, toItemError, toItemOutput, toItemType, toPlanText } from './exec-items.ts';
import { describeToolUse } from './rollout-tools.ts';
import { listUnknownCounts } from './tokens.ts';
import { observeTier, type TierState } from './turn-context.ts';

/** Tool calls in progress; the oldest are dropped. */
const MAX_OPEN_CALLS = 1000;

type TimeMs = number | undefined;

interface CodexExecState extends TierState {
  threadId: string | null;
  model: string | null;
  /** The thread's total at the end of its last turn. */
  totals: { input: number; output: number };
  openCalls: Set<string>;
  /** The agent's last text in this turn. */
  lastText: string | null;
  /** The last error; a turn that fails because of it repeats it. */
  lastError: string | null;
}

/**
 * Reads `codex exec --json`. Its lines have no times and no cost, and usage is the thread's total so far, including
 * earlier runs of a resumed thread. So a thread is one response that each turn updates, and of several streams of a
 * thread the largest figure counts.
 */
export function createExecReader(
  context: ReaderContext,
  state: CodexExecState = {
    threadId: null,
    model: null,
    serviceTier: null,
    totals: { input: 0, output: 0 },
    openCalls: new Set(),
    lastText: null,
    lastError: null,
  },
): Reader {
  const kit = createReaderKit(context, {});
  const onNestingTooDeep = (): void =>
    context.report('nesting_too_deep', 'warning', 'JSON nested too deep to be stored');
  const { isLive = false } = context;

  const toToolUseBlocks = (id: string, item: JsonObject): BlockContent[] | undefined => {
    const tool = toCodexTool(item);
    if (tool === undefined) return undefined;
    const { toolName, input, kind, toolInput: summary } = tool;
    return kit.toToolUseBlocks({ id, name: toolName, input }).map((block) => {
      const { facts } = describeToolUse(toolName, input, block.contentBytes);
      const filePath = kind === 'edit' ? toFilePath(item.changes) : facts.file_path;
      const program = kind === 'shell' ? toShellProgram(readText(item.command) ?? '') : null;
      const known = { ...facts, ...(kind !== 'other' && { tool_kind: kind }), file_path: filePath, program };
      block.toolUse = { ...newToolUse(known), summary };
      return block;
    });
  };

  const readTool = (stage: string, item: JsonObject, timestampMs: TimeMs): TranscriptRecord[] | undefined => {
    const { openCalls, model } = state;
    const id = readText(item.id) ?? '';
    const blocks = toToolUseBlocks(id, item);
    if (blocks === undefined) return undefined;
    const records: TranscriptRecord[] = [];
    if (!openCalls.has(id)) {
      records.push(newMessage('assistant', { blocks, timestampMs, model }));
      openCalls.add(id);
      const [oldest] = openCalls;
      if (openCalls.size > MAX_OPEN_CALLS && oldest !== undefined) openCalls.delete(oldest);
    }
    if (stage === 'item.updated' && isLive) records.push(toNotice(toItemType(item), ''));
    if (stage === 'item.completed') {
      openCalls.delete(id);
      const content = toItemOutput(item, onNestingTooDeep);
      const error = toItemError(item, content);
      const result = { id, content, isError: error !== null, isDenied: item.status === 'declined' };
      const message = kit.toToolResultMessage(result, { timestampMs });
      for (const { toolResult } of message.blocks) if (toolResult && error !== null) toolResult.error = error;
      records.push(message);
    }
    return records;
  };

  /** A notice for watchers, and a system message in the transcript. */
  const toError = (name: string, text: string, timestampMs: TimeMs): TranscriptRecord[] => {
    state.lastError = text;
    if (isLive) return [toNotice(name, text, true)];
    return text === '' ? [] : [newMessage('system', { blocks: kit.toBlocks(text), timestampMs })];
  };

  const readItem = (stage: string, line: JsonObject, timestampMs: TimeMs): TranscriptRecord[] => {
    const item = readObject(line.item);
    if (item === undefined) return [newUnknown(stage, line)];
    const { model } = state;
    const type = toItemType(item);
    const isDone = stage === 'item.completed';
    const text = readText(item.text) ?? '';
    switch (type) {
      case 'agent_message':
      case 'plan':
        if (!isDone) return isLive ? [toNotice(type, text)] : [];
        state.lastText = text;
        return [newMessage('assistant', { blocks: kit.toBlocks(text), timestampMs, model })];
      case 'reasoning': {
        if (isLive) return [toNotice(isDone ? 'thinking' : type, text)];
        const blocks = isDone ? kit.toBlocks([{ type: 'thinking', thinking: text }]) : [];
        return isDone ? [newMessage('assistant', { blocks, timestampMs, model })] : [];
      }
      case 'todo_list':
        if (isLive) return [toNotice(type, toPlanText(item.items))];
        return isDone ? (readTool(stage, item, timestampMs) ?? []) : [];
      case 'error':
        return toError(type, readText(item.message) ?? '', timestampMs);
      default:
        return readTool(stage, item, timestampMs) ?? [newUnknown(stage, item, `${stage}/${type}`)];
    }
  };

  /** A total of the thread that falls is none: the stream does not say what its figures are. */
  const observeTotal = ({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens }: Usage): void => {
    const input = inputTokens + cacheReadTokens + cacheWriteTokens;
    compareTotal('Input tokens of the thread', input, Math.max(input, state.totals.input), context);
    compareTotal('Output tokens of the thread', outputTokens, Math.max(outputTokens, state.totals.output), context);
    state.totals = { input, output: outputTokens };
  };

  /** Input includes tokens read from the cache and written to it, and output includes reasoning. */
  const readUsage = (tokens: JsonObject | undefined, timestampMs: TimeMs): TranscriptRecord[] => {
    if (tokens === undefined) return [];
    const count = (field: string): number => kit.toCount(tokens, field, MAX_TOKENS_PER_SESSION);
    for (const field of listUnknownCounts(tokens, ['service_tier'])) {
      context.report('unknown_usage', 'notice', `Unknown field of usage: ${field}`);
    }
    const cacheReadTokens = count('cached_input_tokens');
    const cacheWriteTokens = count('cache_write_input_tokens');
    const usage = toUsageIfAny({
      inputTokens: Math.max(0, count('input_tokens') - cacheReadTokens - cacheWriteTokens),
      outputTokens: count('output_tokens'),
      cacheReadTokens,
      cacheWriteTokens,
      thinkingTokens: count('reasoning_output_tokens'),
      serviceTier: state.serviceTier,
    });
    if (usage !== undefined) observeTotal(usage);
    const responseId = `codex-exec-thread/${state.threadId ?? context.sessionId ?? ''}`;
    if (usage === undefined) return [];
    return [newUsageRecord({ usage, responseId, timestampMs, model: state.model, stopReason: 'stop' })];
  };

  const startThread = (line: JsonObject): TranscriptRecord[] => {
    state.threadId = kit.toId(line.thread_id);
    state.model = kit.toId(line.model);
    state.openCalls.clear();
    state.totals = { input: 0, output: 0 };
    const { threadId: sessionId, model } = state;
    if (isLive) return [{ kind: 'run', sessionId: sessionId ?? '', model, cwd: null, version: null, tools: [] }];
    const session = toSessionRecord({ sessionId, cwd: kit.toId(line.cwd), version: kit.toId(line.cli_version) });
    return session === undefined ? [] : [session];
  };

  const endTurn = (success: boolean, text: string | null): TranscriptRecord[] => {
    state.lastText = null;
    state.lastError = null;
    if (!isLive) return [];
    const errorCode = success ? null : 'turn.failed';
    const nothing = { stopReason: null, durationMs: null, usage: undefined };
    return [{ kind: 'turn-end', success, subtype: null, errorCode, text, ...nothing }];
  };

  const readLine = (type: string, line: JsonObject, timestampMs: TimeMs): TranscriptRecord[] => {
    for (const stated of [line, readObject(line.usage)]) {
      if (observeTier(state, stated, kit.toId)) continue;
      const tier = cutCharacters(state.serviceTier ?? '', MAX_TYPE_LENGTH);
      context.report('unknown_usage', 'notice', `Unknown tier: ${tier}`);
    }
    switch (type) {
      case 'thread.started':
        return startThread(line);
      case 'turn.started':
        return isLive ? [toNotice(type, '')] : [];
      case 'item.started':
      case 'item.updated':
      case 'item.completed':
        return readItem(type, line, timestampMs);
      case 'turn.completed':
        return [...readUsage(kit.toUsagePart(line, 'usage'), timestampMs), ...endTurn(true, state.lastText)];
      case 'turn.failed': {
        const text = toErrorText(line);
        const isNew = !isLive && text !== null && text !== state.lastError;
        return [...(isNew ? toError(type, text, timestampMs) : []), ...endTurn(false, text ?? type)];
      }
      case 'error':
        return toError(type, toErrorText(line) ?? '', timestampMs);
      default:
        return [newUnknown(type, line)];
    }
  };

  return {
    state,
    read(line, { arrivalMs }) {
      const type = readType(line.type);
      const timestampMs = parseTimestampMs(line.timestamp ?? line.timestamp_ms) ?? arrivalMs;
      const records = type === undefined ? [] : readLine(type, line, timestampMs);
      return { type, timestampMs, records };
    },
  };
}

function toNotice(name: string, text: string, isError = false): NoticeRecord {
  return { kind: 'notice', name, text, isError };
}

/** The first file of a change. */
function toFilePath(changes: JsonValue | undefined): string | null {
  return Array.isArray(changes) ? readText(readObject(changes[0])?.path) : null;
}

function toErrorText(line: JsonObject): string | null {
  const error = readObject(line.error) ?? readObject(readObject(line.data)?.error);
  return readText(error?.message) ?? readText(line.message) ?? readText(line.error);
}
