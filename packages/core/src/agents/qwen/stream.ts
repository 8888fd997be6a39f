import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import { MAX_TOKENS_PER_SESSION, type Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReaderLine, ReadLine } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import { GEMINI_TOOLS } from '../gemini/reader.ts';
import { createReaderKit, readType, toSessionRecord } from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { createUnreadLines, type UnreadTypes } from '../unread-lines.ts';
import { addUsage, NO_TOKENS, type QwenSum, toStreamUsage } from './usage.ts';

const UNREAD: UnreadTypes = {
  stream_event: { why: 'a part of a message that comes as a whole', mayHold: ['event'] },
  control_request: { why: 'a question to the user', mayHold: ['request'] },
  control_response: { why: 'an answer to a question', mayHold: ['response'] },
  control_cancel_request: { why: 'withdraws a question' },
  'system/model_fallback': { why: 'another model answers; its messages name it' },
  'system/session_start': { why: 'the run begins' },
  'system/task_started': { why: 'a sub-agent begins', mayHold: ['data'] },
  'system/task_progress': { why: 'what a sub-agent does', mayHold: ['data'] },
  'system/task_updated': { why: 'what a sub-agent does', mayHold: ['data'] },
  'system/retry': { why: 'a request is repeated', mayHold: ['data'] },
};

const CLASSES = [
  ['input', 'Input tokens without cache'],
  ['cached', 'Cached tokens'],
  ['output', 'Output tokens'],
] as const;

/** Commands, and what the program says in the user's name about tasks in the background. */
const NO_PROMPT = /^\s*(?:[/?<]|(?:Background \w+|Monitor|Cron\w*) "|$)/;

interface QwenStreamState {
  sessionId: string | null;
  model: string | null;
  version: string | null;
  /** The usage of the main loop's messages. */
  messages: QwenSum;
  /** Tokens of all classes that ended sub-agents used, and what of it is counted. */
  subagentTokens: number;
  countedSubagents: QwenSum;
}

/**
 * Reads the output of `qwen --output-format stream-json`, which has lines in the shape of Claude Code's, with counts of
 * the Gemini API. A response is several messages, one for each kind of block, and only the last states the usage.
 * Sub-agents' usage is only in the run's total. https://github.com/QwenLM/qwen-code
 * packages/cli/src/nonInteractive/io/BaseJsonOutputAdapter.ts
 */
export function createQwenStreamReader(context: ReaderContext, state: QwenStreamState = createState()): Reader {
  return new QwenStreamReader(context, state);
}

class QwenStreamReader extends StatefulReader<QwenStreamState> {
  readonly #kit = createReaderKit(this.context, GEMINI_TOOLS);
  readonly #unread = createUnreadLines(UNREAD, this.context);

  read(line: JsonObject, { arrivalMs }: ReaderLine): ReadLine {
    const type = readType(line.type);
    if (type === undefined) return { type, timestampMs: undefined, records: [] };
    const timestampMs = this.#kit.toTimeMs(line.timestamp) ?? arrivalMs;
    const parentToolUseId = this.#kit.toId(line.parent_tool_use_id);
    const isSidechain = parentToolUseId !== null;
    const base = { timestampMs, uuid: this.#kit.toId(line.uuid), parentToolUseId, isSidechain };
    const sessionId = this.#kit.toId(line.session_id);
    const isNew = sessionId !== null && sessionId !== this.state.sessionId;
    if (isNew) this.state.sessionId = sessionId;
    const session = isNew ? toSessionRecord({ sessionId }) : undefined;
    return { type, timestampMs, records: [session ?? [], this.#readEvent(type, line, base)].flat() };
  }

  #toBlocks(content: JsonValue | undefined, timestampMs: number | undefined): BlockContent[] {
    return (Array.isArray(content) ? content : [content ?? null]).flatMap((element): BlockContent[] => {
      const block = readObject(element);
      if (block?.type === 'tool_use')
        return this.#kit.toToolUseBlocks({ id: block.id, name: block.name, input: block.input });
      if (block?.type !== 'tool_result') return this.#kit.toBlocks([element]);
      const result = { id: block.tool_use_id, content: block.content, isError: block.is_error === true };
      return this.#kit.toToolResultBlocks(result, timestampMs);
    });
  }

  #readAssistant(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const message = readObject(line.message);
    const tokens = this.#kit.toUsagePart(message, 'usage');
    const usage = tokens && toStreamUsage(tokens, this.#kit);
    if (base.isSidechain !== true) this.state.messages = addUsage(this.state.messages, usage);
    const model = this.#kit.toId(message?.model) ?? this.state.model;
    const about = {
      responseId: this.#kit.toId(message?.id),
      model,
      agentVersion: this.state.version,
      stopReason: 'stop',
    };
    return [
      newMessage('assistant', { ...base, ...about, usage, blocks: this.#toBlocks(message?.content, base.timestampMs) }),
    ];
  }

  #readUser(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const content = readObject(line.message)?.content;
    const blocks = this.#toBlocks(content, base.timestampMs);
    const text = blocks.find(({ content_text }) => content_text !== null)?.content_text ?? '';
    const isResult = blocks.some(({ toolResult }) => toolResult !== undefined);
    if (isResult || base.isSidechain === true || NO_PROMPT.test(text)) {
      return [newMessage('user', { ...base, metadata: isResult ? {} : { isMeta: true }, blocks })];
    }
    return this.#kit.toPromptRecords(content, base, base.uuid ?? null);
  }

  /** The total of the session so far, with what earlier runs used if it was resumed. */
  #readResult(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const stated = this.#kit.toUsagePart(line, 'usage');
    const usage = stated && toStreamUsage(stated, this.#kit, MAX_TOKENS_PER_SESSION);
    if (usage === undefined || base.isSidechain === true) return [];
    const total = addUsage(NO_TOKENS, usage);
    for (const [name, label] of CLASSES) {
      if (total[name] < this.state.messages[name])
        compareTotal(label, total[name], this.state.messages[name], this.context);
    }
    return this.#readSubagents(total, base);
  }

  /** If the rest of the total is what sub-agents say that they used together, it is theirs. */
  #readSubagents(total: QwenSum, base: Partial<MessageRecord>): TranscriptRecord[] {
    const { messages, countedSubagents: counted, subagentTokens } = this.state;
    const rest: Partial<Usage> = {
      inputTokens: total.input - messages.input - counted.input,
      cacheReadTokens: total.cached - messages.cached - counted.cached,
      outputTokens: total.output - messages.output - counted.output,
    };
    const { inputTokens = 0, cacheReadTokens = 0, outputTokens = 0 } = rest;
    if (subagentTokens === 0) return [];
    if (
      inputTokens + cacheReadTokens + outputTokens !== subagentTokens ||
      Math.min(inputTokens, cacheReadTokens, outputTokens) < 0
    ) {
      this.context.report('unread_content', 'notice', 'Usage of sub-agents, which the stream does not tell apart');
      return [];
    }
    this.state.subagentTokens = 0;
    const { timestampMs, uuid = null } = base;
    const responseId = `qwen/${uuid ?? ''}/sub-agents`;
    const about = { timestampMs, uuid, responseId, agentVersion: this.state.version, stopReason: 'stop' };
    const record = newUsageRecord({ ...about, isSubagent: true, usage: newUsage(rest) });
    this.state.countedSubagents = addUsage(counted, record.usage);
    return [record];
  }

  #readSystem(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const data = readObject(line.data);
    switch (line.subtype) {
      case 'init':
        this.state.model = this.#kit.toId(line.model);
        this.state.version = this.#kit.toId(line.qwen_code_version);
        return [toSessionRecord({ cwd: this.#kit.toId(line.cwd), version: this.state.version }) ?? []].flat();
      case 'task_notification': {
        this.state.subagentTokens += this.#kit.toCount(readObject(data?.usage), 'total_tokens', MAX_TOKENS_PER_SESSION);
        const text = readText(data?.summary) ?? readText(data?.result);
        return text === null ? [] : [newMessage('system', { ...base, blocks: this.#kit.toBlocks(text) })];
      }
      default:
        return this.#unread.read('system', line, `system/${readText(line.subtype) ?? 'none'}`);
    }
  }

  #readEvent(type: string, line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    switch (type) {
      case 'system':
        return this.#readSystem(line, base);
      case 'assistant':
        return this.#readAssistant(line, base);
      case 'user':
        return this.#readUser(line, base);
      case 'result': {
        const error = readText(readObject(line.error)?.message);
        const records = this.#readResult(line, base);
        if (error !== null) records.push(newMessage('system', { ...base, blocks: this.#kit.toBlocks(error) }));
        return records;
      }
      default:
        return this.#unread.read(type, line);
    }
  }
}

function createState(): QwenStreamState {
  return {
    ...{ sessionId: null, model: null, version: null },
    ...{ messages: NO_TOKENS, subagentTokens: 0, countedSubagents: NO_TOKENS },
  };
}
