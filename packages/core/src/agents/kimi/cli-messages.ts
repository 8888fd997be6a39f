import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import type { ReaderContext } from '../agent.ts';
import { parseJsonText, type ReaderKit } from '../reader-kit.ts';
import { createUnreadLines } from '../unread-lines.ts';
import { toSignature } from './mirrors.ts';
import { KIMI_CLI_UNREAD } from './unread-types.ts';
import { readCliUsage } from './usage.ts';

/** A call whose arguments are still coming, in pieces. */
interface OpenCall {
  id: string | null;
  name: string | null;
  text: string;
}

/** The main agent, or a sub-agent whose events stand among its own. */
interface CliStream {
  /** The group of the step's messages; null until the next one begins. */
  group: string | null;
  call: OpenCall | null;
}

export interface KimiCliState {
  /** The latest streams, by the sub-agent's id; '' for the main agent. */
  streams: Map<string, CliStream>;
  /** Steps begun so far, which name their groups. */
  stepCount: number;
}

type Base = Partial<MessageRecord>;

/** Sub-agents that run at once. */
const MAX_STREAMS = 64;
/** Characters of a call's arguments; what comes after them is left out. */
const MAX_ARGUMENTS = 1_000_000;
const MIN_UNIQUE_ID = 20;
/** What follows the last piece of a call. Results of other calls, and sub-agents, may come before it. */
const ENDS_CALL = new Set([
  ...['ContentPart', 'ToolCall', 'StatusUpdate', 'StepBegin', 'StepInterrupted', 'StepRetry', 'TurnBegin', 'TurnEnd'],
]);

export function createKimiCliState(): KimiCliState {
  return { streams: new Map(), stepCount: 0 };
}

/**
 * Reads messages of Kimi CLI: `{"timestamp":…,"message":{"type":"TurnBegin","payload":{…}}}`. What a step says is one
 * message; its usage and id come at the end of the step, with `StatusUpdate`. Events of sub-agents stand within
 * `SubagentEvent`.
 */
export function createCliMessageReader(kit: ReaderKit, context: ReaderContext, state: KimiCliState) {
  const unread = createUnreadLines(KIMI_CLI_UNREAD, context);
  const rootSession = context.sessionId?.split(':')[0] ?? '';

  const streamOf = (name: string): CliStream => {
    const known = state.streams.get(name) ?? { group: null, call: null };
    state.streams.delete(name);
    state.streams.set(name, known);
    if (state.streams.size > MAX_STREAMS) state.streams.delete(state.streams.keys().next().value ?? name);
    return known;
  };

  const toAnswer = (stream: CliStream, base: Base, blocks: readonly BlockContent[]): TranscriptRecord => {
    stream.group ??= `kimi-step-${++state.stepCount}`;
    return newMessage('assistant', { ...base, group: stream.group, blocks });
  };

  /** The call that waits for more of its arguments, as it is. */
  const flushCall = (stream: CliStream, base: Base): TranscriptRecord[] => {
    const { call } = stream;
    if (call === null) return [];
    stream.call = null;
    const input = parseJsonText(call.text) ?? (call.text === '' ? null : call.text);
    return [toAnswer(stream, base, kit.toToolUseBlocks({ id: call.id, name: call.name, input }))];
  };

  const readCall = (payload: JsonObject, stream: CliStream, base: Base): TranscriptRecord[] => {
    const called = readObject(payload.function);
    const given = called?.arguments;
    if (isJsonObject(given)) {
      return [toAnswer(stream, base, kit.toToolUseBlocks({ id: payload.id, name: called?.name, input: given }))];
    }
    stream.call = { id: kit.toId(payload.id), name: kit.toId(called?.name), text: readText(given) ?? '' };
    return isComplete(stream.call.text) ? flushCall(stream, base) : [];
  };

  const readCallPart = (payload: JsonObject, stream: CliStream, base: Base): TranscriptRecord[] => {
    const { call } = stream;
    if (call === null) return [];
    call.text = `${call.text}${readText(payload.arguments_part) ?? ''}`.slice(0, MAX_ARGUMENTS);
    return isComplete(call.text) ? flushCall(stream, base) : [];
  };

  const readResult = (payload: JsonObject, base: Base): TranscriptRecord[] => {
    const value = readObject(payload.return_value);
    const content = toOutput(value?.output, value?.message);
    return [kit.toToolResultMessage({ id: payload.tool_call_id, content, isError: value?.is_error === true }, base)];
  };

  const readStatus = (payload: JsonObject, stream: CliStream, base: Base, model: string | null): TranscriptRecord[] => {
    const usage = readCliUsage(kit, kit.toUsagePart(payload, 'token_usage'));
    if (usage === undefined) return [];
    const id = kit.toId(payload.message_id);
    // A sub-agent's own file names the same responses: short ids are made unique by the session that both belong to.
    const isShort = id !== null && `kimi/${id}`.length < MIN_UNIQUE_ID;
    const named = isShort ? `${rootSession}/${id}` : id;
    const responseId = `kimi/${named ?? `${base.timestampMs ?? ''}/${toSignature(usage)}`}`;
    const { timestampMs, agentId = null, isSidechain: isSubagent = false } = base;
    const group = stream.group ?? undefined;
    stream.group = null;
    return [newUsageRecord({ usage, responseId, group, model, timestampMs, agentId, isSubagent, stopReason: 'stop' })];
  };

  const readSubagent = (payload: JsonObject, base: Base, model: string | null): TranscriptRecord[] => {
    const event = readObject(payload.event) ?? {};
    const type = readText(event.type);
    const parentToolUseId = kit.toId(payload.parent_tool_call_id) ?? kit.toId(payload.task_tool_call_id);
    const agentId = kit.toId(payload.agent_id);
    const name = agentId ?? parentToolUseId ?? 'sub-agent';
    const known = { ...base, parentToolUseId, agentId, isSidechain: true };
    if (type === null) return unread.read('SubagentEvent', { message: { payload } });
    return read(type, readObject(event.payload) ?? {}, known, model, name);
  };

  const toNote = (text: string | null, base: Base): TranscriptRecord[] =>
    text === null ? [] : [newMessage('system', { ...base, blocks: kit.toBlocks(text) })];

  const readPrompt = (input: JsonValue | undefined, base: Base): TranscriptRecord[] =>
    base.isSidechain === true
      ? [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: kit.toBlocks(input) })]
      : kit.toPromptRecords(input, base, null);

  const readOther = (
    type: string,
    payload: JsonObject,
    stream: CliStream,
    base: Base,
    model: string | null,
  ): TranscriptRecord[] => {
    switch (type) {
      case 'TurnBegin':
        stream.group = null;
        return readPrompt(payload.user_input, base);
      case 'SteerInput':
        return readPrompt(payload.user_input, base);
      case 'BtwBegin':
        return readPrompt(payload.question, base);
      case 'BtwEnd': {
        const text = readText(payload.response) ?? readText(payload.error);
        return text === null ? [] : [newMessage('assistant', { ...base, model, blocks: kit.toBlocks(text) })];
      }
      case 'StepBegin':
        stream.group = null;
        return [];
      case 'ContentPart': {
        const thinking = payload.think ?? '';
        const blocks = kit.toBlocks([payload.type === 'think' ? { type: 'thinking', thinking } : payload]);
        return [toAnswer(stream, base, blocks)];
      }
      case 'ToolCall':
        return readCall(payload, stream, base);
      case 'ToolResult':
        return readResult(payload, base);
      case 'StatusUpdate':
        return readStatus(payload, stream, base, model);
      case 'SubagentEvent':
        return readSubagent(payload, base, model);
      case 'QuestionRequest':
        return toNote(toQuestions(payload.questions), base);
      case 'ApprovalRequest':
        return toNote(join(': ', payload.action, payload.description), base);
      case 'ApprovalResponse':
      case 'ApprovalRequestResolved':
        return toNote(join(': ', payload.response, payload.feedback), base);
      case 'Notification':
        return toNote(join('\n', payload.title, payload.body), base);
      case 'CompactionBegin':
        return [kit.toEvent({ kind: 'compaction', name: null, details: {} }, null, base.timestampMs, base)];
      default:
        return unread.read(type, { message: { type, payload } });
    }
  };

  const read = (type: string, payload: JsonObject, base: Base, model: string | null, name = ''): TranscriptRecord[] => {
    const stream = streamOf(name);
    if (type === 'ToolCallPart') return readCallPart(payload, stream, base);
    const isAnswered = stream.call !== null && payload.tool_call_id === stream.call.id;
    const ended = isAnswered || ENDS_CALL.has(type) ? flushCall(stream, base) : [];
    return [...ended, ...readOther(type, payload, stream, base, model)];
  };

  return {
    read: (type: string, payload: JsonObject, base: Base, model: string | null) => read(type, payload, base, model),
    /** Calls whose arguments never ended. */
    readEnd: (): TranscriptRecord[] => [...state.streams.values()].flatMap((stream) => flushCall(stream, {})),
  };
}

/** What a tool gave back: its output, or else the program's words about it. */
export function toOutput(...values: (JsonValue | undefined)[]): JsonValue {
  const found = values.find((value) => (typeof value === 'string' || Array.isArray(value)) && value.length > 0);
  return found ?? (values.some((value) => typeof value === 'string') ? '' : null);
}

/** Whether a call's arguments are whole: they come in pieces of a JSON object. */
function isComplete(text: string): boolean {
  return text.trimEnd().endsWith('}') && parseJsonText(text) !== undefined;
}

const join = (separator: string, ...values: (JsonValue | undefined)[]): string | null =>
  values.flatMap((value) => readText(value) ?? []).join(separator) || null;

function toQuestions(questions: JsonValue | undefined): string | null {
  const texts = (Array.isArray(questions) ? questions : []).filter(isJsonObject).flatMap((question) => {
    const options = (Array.isArray(question.options) ? question.options : []).filter(isJsonObject);
    const choices = options.map(({ label, description }) => `- ${join(': ', label, description) ?? ''}`);
    return [join('\n', question.question, question.body), ...choices].filter((line) => line !== null);
  });
  return texts.length === 0 ? null : texts.join('\n');
}
