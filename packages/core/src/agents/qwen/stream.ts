import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import { MAX_TOKENS_PER_SESSION, type Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import { GEMINI_TOOLS } from '../gemini/reader.ts';
import { createReaderKit, readType, toSessionRecord } from '../reader-kit.ts';
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
  /** What the messages of the main loop used. */
  messages: QwenSum;
  /** Tokens of all classes that ended sub-agents used, and what of it is counted. */
  subagentTokens: number;
  countedSubagents: QwenSum;
}

/**
 * Reads the output of `qwen --output-format stream-json`: lines in the shape of Claude Code's, with counts of the Gemini
 * API. A response is several messages, one for each kind of block, of which only the last states what was used. What
 * sub-agents used is only in the run's total.
 * https://github.com/QwenLM/qwen-code packages/cli/src/nonInteractive/io/BaseJsonOutputAdapter.ts
 */
export function createQwenStreamReader(context: ReaderContext, state: QwenStreamState = createState()): Reader {
  const kit = createReaderKit(context, GEMINI_TOOLS);
  const unread = createUnreadLines(UNREAD, context);

  const toBlocks = (content: JsonValue | undefined, timestampMs: number | undefined): BlockContent[] =>
    (Array.isArray(content) ? content : [content ?? null]).flatMap((element): BlockContent[] => {
      const block = readObject(element);
      if (block?.type === 'tool_use')
        return kit.toToolUseBlocks({ id: block.id, name: block.name, input: block.input });
      if (block?.type !== 'tool_result') return kit.toBlocks([element]);
      const result = { id: block.tool_use_id, content: block.content, isError: block.is_error === true };
      return kit.toToolResultBlocks(result, timestampMs);
    });

  const readAssistant = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const message = readObject(line.message);
    const tokens = kit.toUsagePart(message, 'usage');
    const usage = tokens && toStreamUsage(tokens, kit);
    if (base.isSidechain !== true) state.messages = addUsage(state.messages, usage);
    const model = kit.toId(message?.model) ?? state.model;
    const about = { responseId: kit.toId(message?.id), model, agentVersion: state.version, stopReason: 'stop' };
    return [
      newMessage('assistant', { ...base, ...about, usage, blocks: toBlocks(message?.content, base.timestampMs) }),
    ];
  };

  const readUser = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const content = readObject(line.message)?.content;
    const blocks = toBlocks(content, base.timestampMs);
    const text = blocks.find(({ content_text }) => content_text !== null)?.content_text ?? '';
    const isResult = blocks.some(({ toolResult }) => toolResult !== undefined);
    if (isResult || base.isSidechain === true || NO_PROMPT.test(text)) {
      return [newMessage('user', { ...base, metadata: isResult ? {} : { isMeta: true }, blocks })];
    }
    return kit.toPromptRecords(content, base, base.uuid ?? null);
  };

  /** The total of the session so far, with what earlier runs used if it was resumed. */
  const readResult = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const stated = kit.toUsagePart(line, 'usage');
    const usage = stated && toStreamUsage(stated, kit, MAX_TOKENS_PER_SESSION);
    if (usage === undefined || base.isSidechain === true) return [];
    const total = addUsage(NO_TOKENS, usage);
    for (const [name, label] of CLASSES) {
      if (total[name] < state.messages[name]) compareTotal(label, total[name], state.messages[name], context);
    }
    return readSubagents(total, base);
  };

  /** If the rest of the total is what sub-agents say that they used together, it is theirs. */
  const readSubagents = (total: QwenSum, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const { messages, countedSubagents: counted, subagentTokens } = state;
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
      context.report('unread_content', 'notice', 'Usage of sub-agents, which the stream does not tell apart');
      return [];
    }
    state.subagentTokens = 0;
    const { timestampMs, uuid = null } = base;
    const responseId = `qwen/${uuid ?? ''}/sub-agents`;
    const about = { timestampMs, uuid, responseId, agentVersion: state.version, stopReason: 'stop' };
    const record = newUsageRecord({ ...about, isSubagent: true, usage: newUsage(rest) });
    state.countedSubagents = addUsage(counted, record.usage);
    return [record];
  };

  const readSystem = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const data = readObject(line.data);
    switch (line.subtype) {
      case 'init':
        state.model = kit.toId(line.model);
        state.version = kit.toId(line.qwen_code_version);
        return [toSessionRecord({ cwd: kit.toId(line.cwd), version: state.version }) ?? []].flat();
      case 'task_notification': {
        state.subagentTokens += kit.toCount(readObject(data?.usage), 'total_tokens', MAX_TOKENS_PER_SESSION);
        const text = readText(data?.summary) ?? readText(data?.result);
        return text === null ? [] : [newMessage('system', { ...base, blocks: kit.toBlocks(text) })];
      }
      default:
        return unread.read('system', line, `system/${readText(line.subtype) ?? 'none'}`);
    }
  };

  const readEvent = (type: string, line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    switch (type) {
      case 'system':
        return readSystem(line, base);
      case 'assistant':
        return readAssistant(line, base);
      case 'user':
        return readUser(line, base);
      case 'result': {
        const error = readText(readObject(line.error)?.message);
        const records = readResult(line, base);
        if (error !== null) records.push(newMessage('system', { ...base, blocks: kit.toBlocks(error) }));
        return records;
      }
      default:
        return unread.read(type, line);
    }
  };

  return {
    state,
    read(line, { arrivalMs }) {
      const type = readType(line.type);
      if (type === undefined) return { type, timestampMs: undefined, records: [] };
      const timestampMs = kit.toTimeMs(line.timestamp) ?? arrivalMs;
      const parentToolUseId = kit.toId(line.parent_tool_use_id);
      const isSidechain = parentToolUseId !== null;
      const base = { timestampMs, uuid: kit.toId(line.uuid), parentToolUseId, isSidechain };
      const sessionId = kit.toId(line.session_id);
      const isNew = sessionId !== null && sessionId !== state.sessionId;
      if (isNew) state.sessionId = sessionId;
      const session = isNew ? toSessionRecord({ sessionId }) : undefined;
      return { type, timestampMs, records: [session ?? [], readEvent(type, line, base)].flat() };
    },
  };
}

function createState(): QwenStreamState {
  return {
    ...{ sessionId: null, model: null, version: null },
    ...{ messages: NO_TOKENS, subagentTokens: 0, countedSubagents: NO_TOKENS },
  };
}
