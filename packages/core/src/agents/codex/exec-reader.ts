import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, MAX_TYPE_LENGTH, readObject, readText } from '../../records/fields.ts';
import { newMessage, newToolUse, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, NoticeRecord, TranscriptRecord } from '../../records/records.ts';
import { parseTimestampMs } from '../../records/timestamps.ts';
import { MAX_TOKENS_PER_SESSION, type Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReaderLine, ReadLine } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import { createReaderKit, readType, toSessionRecord, toUsageIfAny } from '../reader-kit.ts';
import { toShellProgram } from '../shell-program.ts';
import { StatefulReader } from '../stateful-reader.ts';
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
  return new ExecReader(context, state);
}

class ExecReader extends StatefulReader<CodexExecState> {
  readonly #kit = createReaderKit(this.context, {});
  readonly #isLive = this.context.isLive === true;

  read(line: JsonObject, { arrivalMs }: ReaderLine): ReadLine {
    const type = readType(line.type);
    const timestampMs = parseTimestampMs(line.timestamp ?? line.timestamp_ms) ?? arrivalMs;
    const records = type === undefined ? [] : this.#readLine(type, line, timestampMs);
    return { type, timestampMs, records };
  }

  #toToolUseBlocks(id: string, item: JsonObject): BlockContent[] | undefined {
    const tool = toCodexTool(item);
    if (tool === undefined) return undefined;
    const { toolName, input, kind, toolInput: summary } = tool;
    return this.#kit.toToolUseBlocks({ id, name: toolName, input }).map((block) => {
      const { facts } = describeToolUse(toolName, input, block.contentBytes);
      const filePath = kind === 'edit' ? toFilePath(item.changes) : facts.file_path;
      const program = kind === 'shell' ? toShellProgram(readText(item.command) ?? '') : null;
      const known = { ...facts, ...(kind !== 'other' && { tool_kind: kind }), file_path: filePath, program };
      block.toolUse = { ...newToolUse(known), summary };
      return block;
    });
  }

  #readTool(stage: string, item: JsonObject, timestampMs: TimeMs): TranscriptRecord[] | undefined {
    const { openCalls, model } = this.state;
    const id = readText(item.id) ?? '';
    const blocks = this.#toToolUseBlocks(id, item);
    if (blocks === undefined) return undefined;
    const records: TranscriptRecord[] = [];
    if (!openCalls.has(id)) {
      records.push(newMessage('assistant', { blocks, timestampMs, model }));
      openCalls.add(id);
      const [oldest] = openCalls;
      if (openCalls.size > MAX_OPEN_CALLS && oldest !== undefined) openCalls.delete(oldest);
    }
    if (stage === 'item.updated' && this.#isLive) records.push(toNotice(toItemType(item), ''));
    if (stage === 'item.completed') {
      openCalls.delete(id);
      const content = toItemOutput(item, this.#onNestingTooDeep);
      const error = toItemError(item, content);
      const result = { id, content, isError: error !== null, isDenied: item.status === 'declined' };
      const message = this.#kit.toToolResultMessage(result, { timestampMs });
      for (const { toolResult } of message.blocks) if (toolResult && error !== null) toolResult.error = error;
      records.push(message);
    }
    return records;
  }

  /** A notice for watchers, and a system message in the transcript. */
  #toError(name: string, text: string, timestampMs: TimeMs): TranscriptRecord[] {
    this.state.lastError = text;
    if (this.#isLive) return [toNotice(name, text, true)];
    return text === '' ? [] : [newMessage('system', { blocks: this.#kit.toBlocks(text), timestampMs })];
  }

  #readItem(stage: string, line: JsonObject, timestampMs: TimeMs): TranscriptRecord[] {
    const item = readObject(line.item);
    if (item === undefined) return [newUnknown(stage, line)];
    const { model } = this.state;
    const type = toItemType(item);
    const isDone = stage === 'item.completed';
    const text = readText(item.text) ?? '';
    switch (type) {
      case 'agent_message':
      case 'plan':
        if (!isDone) return this.#isLive ? [toNotice(type, text)] : [];
        this.state.lastText = text;
        return [newMessage('assistant', { blocks: this.#kit.toBlocks(text), timestampMs, model })];
      case 'reasoning': {
        if (this.#isLive) return [toNotice(isDone ? 'thinking' : type, text)];
        const blocks = isDone ? this.#kit.toBlocks([{ type: 'thinking', thinking: text }]) : [];
        return isDone ? [newMessage('assistant', { blocks, timestampMs, model })] : [];
      }
      case 'todo_list':
        if (this.#isLive) return [toNotice(type, toPlanText(item.items))];
        return isDone ? (this.#readTool(stage, item, timestampMs) ?? []) : [];
      case 'error':
        return this.#toError(type, readText(item.message) ?? '', timestampMs);
      default:
        return this.#readTool(stage, item, timestampMs) ?? [newUnknown(stage, item, `${stage}/${type}`)];
    }
  }

  /** A total of the thread that falls does not count. The stream does not say what its figures are. */
  #observeTotal({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens }: Usage): void {
    const input = inputTokens + cacheReadTokens + cacheWriteTokens;
    compareTotal('Input tokens of the thread', input, Math.max(input, this.state.totals.input), this.context);
    compareTotal(
      'Output tokens of the thread',
      outputTokens,
      Math.max(outputTokens, this.state.totals.output),
      this.context,
    );
    this.state.totals = { input, output: outputTokens };
  }

  /** Input includes tokens read from the cache and written to it, and output includes reasoning. */
  #readUsage(tokens: JsonObject | undefined, timestampMs: TimeMs): TranscriptRecord[] {
    if (tokens === undefined) return [];
    const count = (field: string): number => this.#kit.toCount(tokens, field, MAX_TOKENS_PER_SESSION);
    for (const field of listUnknownCounts(tokens, ['service_tier'])) {
      this.context.report('unknown_usage', 'notice', `Unknown field of usage: ${field}`);
    }
    const cacheReadTokens = count('cached_input_tokens');
    const cacheWriteTokens = count('cache_write_input_tokens');
    const usage = toUsageIfAny({
      inputTokens: Math.max(0, count('input_tokens') - cacheReadTokens - cacheWriteTokens),
      outputTokens: count('output_tokens'),
      cacheReadTokens,
      cacheWriteTokens,
      thinkingTokens: count('reasoning_output_tokens'),
      serviceTier: this.state.serviceTier,
    });
    if (usage !== undefined) this.#observeTotal(usage);
    const responseId = `codex-exec-thread/${this.state.threadId ?? this.context.sessionId ?? ''}`;
    if (usage === undefined) return [];
    return [newUsageRecord({ usage, responseId, timestampMs, model: this.state.model, stopReason: 'stop' })];
  }

  #startThread(line: JsonObject): TranscriptRecord[] {
    this.state.threadId = this.#kit.toId(line.thread_id);
    this.state.model = this.#kit.toId(line.model);
    this.state.openCalls.clear();
    this.state.totals = { input: 0, output: 0 };
    const { threadId: sessionId, model } = this.state;
    if (this.#isLive) return [{ kind: 'run', sessionId: sessionId ?? '', model, cwd: null, version: null, tools: [] }];
    const session = toSessionRecord({
      sessionId,
      cwd: this.#kit.toId(line.cwd),
      version: this.#kit.toId(line.cli_version),
    });
    return session === undefined ? [] : [session];
  }

  #endTurn(success: boolean, text: string | null): TranscriptRecord[] {
    this.state.lastText = null;
    this.state.lastError = null;
    if (!this.#isLive) return [];
    const errorCode = success ? null : 'turn.failed';
    return [{ kind: 'turn-end', success, subtype: null, errorCode, text, stopReason: null, durationMs: null }];
  }

  #readLine(type: string, line: JsonObject, timestampMs: TimeMs): TranscriptRecord[] {
    for (const stated of [line, readObject(line.usage)]) {
      if (observeTier(this.state, stated, this.#kit.toId)) continue;
      const tier = cutCharacters(this.state.serviceTier ?? '', MAX_TYPE_LENGTH);
      this.context.report('unknown_usage', 'notice', `Unknown tier: ${tier}`);
    }
    switch (type) {
      case 'thread.started':
        return this.#startThread(line);
      case 'turn.started':
        return this.#isLive ? [toNotice(type, '')] : [];
      case 'item.started':
      case 'item.updated':
      case 'item.completed':
        return this.#readItem(type, line, timestampMs);
      case 'turn.completed':
        return [
          ...this.#readUsage(this.#kit.toUsagePart(line, 'usage'), timestampMs),
          ...this.#endTurn(true, this.state.lastText),
        ];
      case 'turn.failed': {
        const text = toErrorText(line);
        const isNew = !this.#isLive && text !== null && text !== this.state.lastError;
        return [...(isNew ? this.#toError(type, text, timestampMs) : []), ...this.#endTurn(false, text ?? type)];
      }
      case 'error':
        return this.#toError(type, toErrorText(line) ?? '', timestampMs);
      default:
        return [newUnknown(type, line)];
    }
  }

  readonly #onNestingTooDeep = (): void =>
    this.context.report('nesting_too_deep', 'warning', 'JSON nested too deep to be stored');
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
