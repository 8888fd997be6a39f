import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import type { ReaderContext } from '../agent.ts';
import { parseJsonText, type ReaderKit } from '../reader-kit.ts';
import { createUnreadLines, type UnreadLines } from '../unread-lines.ts';
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

/** The state of the reader of the older Kimi CLI's messages. */
export interface KimiCliState {
  /** The latest streams, by the sub-agent's id; '' for the main agent. */
  streams: Map<string, CliStream>;
  /** Steps begun so far, which name their groups. */
  stepCount: number;
}

type Base = Partial<MessageRecord>;

/** Sub-agents that run concurrently. */
const MAX_STREAMS = 64;
/** Characters of a call's arguments; what comes after them is left out. */
const MAX_ARGUMENTS = 1_000_000;
const MIN_UNIQUE_ID = 20;
/** The content after the last piece of a call. Results of other calls, and sub-agents, may come before it. */
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
export function createCliMessageReader(kit: ReaderKit, context: ReaderContext, state: KimiCliState): CliMessages {
  return new CliMessages(kit, context, state);
}

export class CliMessages {
  readonly #kit: ReaderKit;
  readonly #state: KimiCliState;
  readonly #unread: UnreadLines;
  readonly #rootSession: string;

  constructor(kit: ReaderKit, context: ReaderContext, state: KimiCliState) {
    this.#kit = kit;
    this.#state = state;
    this.#unread = createUnreadLines(KIMI_CLI_UNREAD, context);
    this.#rootSession = context.sessionId?.split(':')[0] ?? '';
  }

  read(type: string, payload: JsonObject, base: Base, model: string | null): TranscriptRecord[] {
    return this.#read(type, payload, base, model);
  }

  /** Calls whose arguments never ended. */
  readEnd(): TranscriptRecord[] {
    return [...this.#state.streams.values()].flatMap((stream) => this.#flushCall(stream, {}));
  }

  #streamOf(name: string): CliStream {
    const known = this.#state.streams.get(name) ?? { group: null, call: null };
    this.#state.streams.delete(name);
    this.#state.streams.set(name, known);
    if (this.#state.streams.size > MAX_STREAMS)
      this.#state.streams.delete(this.#state.streams.keys().next().value ?? name);
    return known;
  }

  #toAnswer(stream: CliStream, base: Base, blocks: readonly BlockContent[]): TranscriptRecord {
    stream.group ??= `kimi-step-${++this.#state.stepCount}`;
    return newMessage('assistant', { ...base, group: stream.group, blocks });
  }

  /** The call that waits for more of its arguments, as it is. */
  #flushCall(stream: CliStream, base: Base): TranscriptRecord[] {
    const { call } = stream;
    if (call === null) return [];
    stream.call = null;
    const input = parseJsonText(call.text) ?? (call.text === '' ? null : call.text);
    return [this.#toAnswer(stream, base, this.#kit.toToolUseBlocks({ id: call.id, name: call.name, input }))];
  }

  #readCall(payload: JsonObject, stream: CliStream, base: Base): TranscriptRecord[] {
    const called = readObject(payload.function);
    const given = called?.arguments;
    if (isJsonObject(given)) {
      return [
        this.#toAnswer(stream, base, this.#kit.toToolUseBlocks({ id: payload.id, name: called?.name, input: given })),
      ];
    }
    stream.call = { id: this.#kit.toId(payload.id), name: this.#kit.toId(called?.name), text: readText(given) ?? '' };
    return isComplete(stream.call.text) ? this.#flushCall(stream, base) : [];
  }

  #readCallPart(payload: JsonObject, stream: CliStream, base: Base): TranscriptRecord[] {
    const { call } = stream;
    if (call === null) return [];
    call.text = `${call.text}${readText(payload.arguments_part) ?? ''}`.slice(0, MAX_ARGUMENTS);
    return isComplete(call.text) ? this.#flushCall(stream, base) : [];
  }

  #readResult(payload: JsonObject, base: Base): TranscriptRecord[] {
    const value = readObject(payload.return_value);
    const content = toOutput(value?.output, value?.message);
    return [
      this.#kit.toToolResultMessage({ id: payload.tool_call_id, content, isError: value?.is_error === true }, base),
    ];
  }

  #readStatus(payload: JsonObject, stream: CliStream, base: Base, model: string | null): TranscriptRecord[] {
    const usage = readCliUsage(this.#kit, this.#kit.toUsagePart(payload, 'token_usage'));
    if (usage === undefined) return [];
    const id = this.#kit.toId(payload.message_id);
    // A sub-agent's own file names the same responses. Short ids are made unique by the session that both belong to.
    const isShort = id !== null && `kimi/${id}`.length < MIN_UNIQUE_ID;
    const named = isShort ? `${this.#rootSession}/${id}` : id;
    const responseId = `kimi/${named ?? `${base.timestampMs ?? ''}/${toSignature(usage)}`}`;
    const { timestampMs, agentId = null, isSidechain: isSubagent = false } = base;
    const group = stream.group ?? undefined;
    stream.group = null;
    return [newUsageRecord({ usage, responseId, group, model, timestampMs, agentId, isSubagent, stopReason: 'stop' })];
  }

  #readSubagent(payload: JsonObject, base: Base, model: string | null): TranscriptRecord[] {
    const event = readObject(payload.event) ?? {};
    const type = readText(event.type);
    const parentToolUseId = this.#kit.toId(payload.parent_tool_call_id) ?? this.#kit.toId(payload.task_tool_call_id);
    const agentId = this.#kit.toId(payload.agent_id);
    const name = agentId ?? parentToolUseId ?? 'sub-agent';
    const known = { ...base, parentToolUseId, agentId, isSidechain: true };
    if (type === null) return this.#unread.read('SubagentEvent', { message: { payload } });
    return this.#read(type, readObject(event.payload) ?? {}, known, model, name);
  }

  #toNote(text: string | null, base: Base): TranscriptRecord[] {
    return text === null ? [] : [newMessage('system', { ...base, blocks: this.#kit.toBlocks(text) })];
  }

  #readPrompt(input: JsonValue | undefined, base: Base): TranscriptRecord[] {
    return base.isSidechain === true
      ? [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: this.#kit.toBlocks(input) })]
      : this.#kit.toPromptRecords(input, base, null);
  }

  #readOther(
    type: string,
    payload: JsonObject,
    stream: CliStream,
    base: Base,
    model: string | null,
  ): TranscriptRecord[] {
    switch (type) {
      case 'TurnBegin':
        stream.group = null;
        return this.#readPrompt(payload.user_input, base);
      case 'SteerInput':
        return this.#readPrompt(payload.user_input, base);
      case 'BtwBegin':
        return this.#readPrompt(payload.question, base);
      case 'BtwEnd': {
        const text = readText(payload.response) ?? readText(payload.error);
        return text === null ? [] : [newMessage('assistant', { ...base, model, blocks: this.#kit.toBlocks(text) })];
      }
      case 'StepBegin':
        stream.group = null;
        return [];
      case 'ContentPart': {
        const thinking = payload.think ?? '';
        const blocks = this.#kit.toBlocks([payload.type === 'think' ? { type: 'thinking', thinking } : payload]);
        return [this.#toAnswer(stream, base, blocks)];
      }
      case 'ToolCall':
        return this.#readCall(payload, stream, base);
      case 'ToolResult':
        return this.#readResult(payload, base);
      case 'StatusUpdate':
        return this.#readStatus(payload, stream, base, model);
      case 'SubagentEvent':
        return this.#readSubagent(payload, base, model);
      case 'QuestionRequest':
        return this.#toNote(toQuestions(payload.questions), base);
      case 'ApprovalRequest':
        return this.#toNote(join(': ', payload.action, payload.description), base);
      case 'ApprovalResponse':
      case 'ApprovalRequestResolved':
        return this.#toNote(join(': ', payload.response, payload.feedback), base);
      case 'Notification':
        return this.#toNote(join('\n', payload.title, payload.body), base);
      case 'CompactionBegin':
        return [this.#kit.toEvent({ kind: 'compaction', name: null, details: {} }, null, base.timestampMs, base)];
      default:
        return this.#unread.read(type, { message: { type, payload } });
    }
  }

  #read(type: string, payload: JsonObject, base: Base, model: string | null, name = ''): TranscriptRecord[] {
    const stream = this.#streamOf(name);
    if (type === 'ToolCallPart') return this.#readCallPart(payload, stream, base);
    const isAnswered = stream.call !== null && payload.tool_call_id === stream.call.id;
    const ended = isAnswered || ENDS_CALL.has(type) ? this.#flushCall(stream, base) : [];
    return [...ended, ...this.#readOther(type, payload, stream, base, model)];
  }
}

/** The result of a tool (its output, or else the program's words about it). */
export function toOutput(...values: (JsonValue | undefined)[]): JsonValue {
  const found = values.find((value) => (typeof value === 'string' || Array.isArray(value)) && value.length > 0);
  return found ?? (values.some((value) => typeof value === 'string') ? '' : null);
}

/** True if a call's arguments are whole. They come in pieces of a JSON object. */
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
