import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { MessageRecord, TranscriptRecord } from '../../records/records.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import { createReaderKit, parseJsonText, readType, toSessionRecord } from '../reader-kit.ts';
import { createUnreadLines } from '../unread-lines.ts';
import { createCliMessageReader, createKimiCliState, type KimiCliState, toOutput } from './cli-messages.ts';
import { beginStep, createKimiMirrors, endStep, type KimiMirrors, matchRecord, toSignature } from './mirrors.ts';
import { KIMI_TOOLS } from './tools.ts';
import { KIMI_CODE_UNREAD } from './unread-types.ts';
import { readCodeUsage } from './usage.ts';

interface KimiReaderState {
  /** As the session names it, which may be an alias. */
  model: string | null;
  /** The model that the request of the open step names. */
  stepModel: string | null;
  /** What the latest requests say of the models behind aliases. */
  aliases: Map<string, string>;
  mirrors: KimiMirrors;
  /** Texts of the latest prompts, which the context repeats. */
  prompts: string[];
  /** Whether the compaction that is under way has been told of. */
  isCompacted: boolean;
  cli: KimiCliState;
}

const LOOP_EVENT = 'context.append_loop_event';
const MAX_ALIASES = 64;
const MAX_PROMPTS = 16;
const MAX_PROMPT_LENGTH = 500;

function createState(): KimiReaderState {
  return {
    ...{
      model: null,
      stepModel: null,
      aliases: new Map(),
      mirrors: createKimiMirrors(),
      prompts: [],
      isCompacted: false,
    },
    cli: createKimiCliState(),
  };
}

/**
 * Reads `wire.jsonl`: records of Kimi Code (`turn.prompt`, `context.append_loop_event`, `usage.record`), and messages of
 * the older Kimi CLI, for which see createCliMessageReader.
 */
export function createKimiReader(context: ReaderContext, state = createState()): Reader {
  const kit = createReaderKit(context, KIMI_TOOLS);
  const unread = createUnreadLines(KIMI_CODE_UNREAD, context);
  const cli = createCliMessageReader(kit, context, state.cli);
  const { mirrors } = state;

  const toModel = (name: string | null): string | null => (name === null ? null : (state.aliases.get(name) ?? name));
  const toAnswer = (known: Partial<MessageRecord>): TranscriptRecord[] => [
    newMessage('assistant', { model: toModel(state.stepModel ?? state.model), ...known }),
  ];
  const compareMirrors = (one: string, other: string): void => {
    const [input = 0, output = 0, read = 0, written = 0] = one.split('.').map(Number);
    const [otherInput = 0, otherOutput = 0, otherRead = 0, otherWritten = 0] = other.split('.').map(Number);
    compareTotal('Output tokens of a step and of its usage.record', output, otherOutput, context);
    const sum = otherInput + otherRead + otherWritten;
    compareTotal('Input tokens with caches of a step and of its usage.record', input + read + written, sum, context);
  };

  const readPrompt = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    state.prompts.push(toTextKey(line.input));
    if (state.prompts.length > MAX_PROMPTS) state.prompts.shift();
    const isByUser = (readText(readObject(line.origin)?.kind) ?? 'user') === 'user';
    if (isByUser) return kit.toPromptRecords(line.input, base, null);
    return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: kit.toBlocks(line.input) })];
  };

  /**
   * `context.append_message`: prompts and reminders, which the file or the program has already; else what an imported
   * session holds, or what commands, hooks and tasks have told the model.
   */
  const readContextMessage = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const message = readObject(line.message) ?? {};
    const origin = readText(readObject(message.origin)?.kind);
    if (message.role === 'assistant') {
      const calls = (Array.isArray(message.toolCalls) ? message.toolCalls : []).filter(isJsonObject);
      const called = calls.flatMap(({ id, name, arguments: input }) =>
        kit.toToolUseBlocks({ id, name, input: parseJsonText(readText(input) ?? '') ?? input }),
      );
      return toAnswer({ ...base, blocks: [...toPartBlocks(message.content), ...called] });
    }
    if (message.role === 'tool') {
      const isError = message.isError === true;
      return [kit.toToolResultMessage({ id: message.toolCallId, content: message.content, isError }, base)];
    }
    const key = toTextKey(message.content);
    if (origin === 'injection' || key === '' || state.prompts.includes(key)) return [];
    return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: kit.toBlocks(message.content) })];
  };

  const toPartBlocks = (content: JsonValue | undefined) =>
    (Array.isArray(content) ? content : [content ?? '']).flatMap((part) =>
      isJsonObject(part) && part.type === 'think'
        ? kit.toBlocks([{ type: 'thinking', thinking: part.think ?? '' }])
        : kit.toBlocks(typeof part === 'string' ? part : [part]),
    );

  const readStepEnd = (event: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const uuid = kit.toId(event.uuid);
    const usage = readCodeUsage(kit, kit.toUsagePart(event, 'usage'));
    if (usage === undefined) {
      beginStep(mirrors, null);
      return [];
    }
    const match = endStep(mirrors, uuid, usage);
    if (match.other !== undefined) compareMirrors(toSignature(usage), match.other);
    const stopReason = kit.toId(event.finishReason) ?? 'stop';
    // A record that counts under a key of its own has counted it.
    const isCounted = match.isMirror && match.responseId !== uuid;
    return toAnswer({ ...base, responseId: uuid, stopReason, usage: isCounted ? undefined : usage });
  };

  const readLoopEvent = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const event = readObject(line.event) ?? {};
    const responseId = kit.toId(event.stepUuid ?? event.uuid);
    switch (event.type) {
      case 'step.begin':
        beginStep(mirrors, responseId);
        state.stepModel = null;
        return [];
      case 'content.part':
        return toAnswer({ ...base, responseId, blocks: toPartBlocks([event.part ?? {}]) });
      case 'tool.call': {
        const blocks = kit.toToolUseBlocks({ id: event.toolCallId, name: event.name, input: event.args });
        return toAnswer({ ...base, responseId, blocks });
      }
      case 'tool.result': {
        const result = readObject(event.result);
        const content = toOutput(result?.output, result?.message, result?.note);
        return [kit.toToolResultMessage({ id: event.toolCallId, content, isError: result?.isError === true }, base)];
      }
      case 'step.end':
        return readStepEnd(event, base);
      default: {
        const type = readType(event.type);
        return unread.read(LOOP_EVENT, line, type === undefined ? LOOP_EVENT : `${LOOP_EVENT}/${type}`);
      }
    }
  };

  /** Repeats a step's usage, except for requests outside the loop, which are only recorded here. */
  const readUsageRecord = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const usage = readCodeUsage(kit, kit.toUsagePart(line, 'usage'));
    if (usage === undefined) return [];
    const { timestampMs } = base;
    const { responseId, isMirror, other } = matchRecord(mirrors, usage, readText(line.usageScope));
    const named = kit.toId(line.model);
    const model = toModel(named ?? state.model);
    const isFirstName = state.model === null && model !== null;
    state.model ??= named;
    if (isMirror && other === undefined) return isFirstName ? [newMessage('assistant', { responseId, model })] : [];
    if (other !== undefined) {
      compareMirrors(other, toSignature(usage));
      return [newMessage('assistant', { responseId, model, usage })];
    }
    if (responseId !== null) state.stepModel ??= named;
    const key = responseId ?? `kimi/${timestampMs ?? ''}/${toSignature(usage)}`;
    return [newUsageRecord({ usage, responseId: key, model, timestampMs, stopReason: 'stop' })];
  };

  const readCompaction = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const preTokens = kit.toCount(line, 'tokensBefore');
    const details = preTokens > 0 ? { preTokens } : {};
    const event = kit.toEvent({ kind: 'compaction', name: null, details }, null, base.timestampMs);
    const summary = readObject(line.summary)?.content ?? line.contextSummary ?? line.summary;
    const blocks = toPartBlocks(summary);
    return blocks.length === 0 ? [event] : [event, newMessage('summary', { ...base, blocks })];
  };

  const readTurnEnd = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const error = readObject(line.error);
    const text = readText(error?.message);
    if (text === null) return [];
    const event = { kind: 'api_error', name: kit.toId(error?.code), details: {} } as const;
    return [kit.toEvent(event, null, base.timestampMs), newMessage('system', { ...base, blocks: kit.toBlocks(text) })];
  };

  /** Model and folder of the session: `config.update`, from protocol 1.5 on `profile.bind`. */
  const readProfile = (line: JsonObject): TranscriptRecord[] => {
    state.model = kit.toId(line.modelAlias) ?? state.model;
    state.stepModel = null;
    const cwd = kit.toId(line.cwd) ?? kit.toId(readObject(line.environmentDisclosure)?.cwd);
    return [toSessionRecord({ cwd }) ?? []].flat();
  };

  const rememberAlias = (line: JsonObject): void => {
    const alias = kit.toId(line.modelAlias);
    const model = kit.toId(line.model);
    // `moonshot-ai/kimi-k3` names its model, and its provider besides.
    if (alias === null || model === null || alias.endsWith(model)) return;
    state.aliases.set(alias, model);
    if (state.aliases.size > MAX_ALIASES) state.aliases.delete(state.aliases.keys().next().value ?? alias);
  };

  const readRecord = (type: string, line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    switch (type) {
      case 'config.update':
      case 'profile.bind':
        return readProfile(line);
      case 'llm.request':
        rememberAlias(line);
        if (mirrors.openStep !== null) state.stepModel = kit.toId(line.modelAlias) ?? state.stepModel;
        return [];
      case 'turn.prompt':
      case 'turn.steer':
        return readPrompt(line, base);
      case 'turn.ended':
        return readTurnEnd(line, base);
      case 'context.append_message':
        return readContextMessage(line, base);
      case LOOP_EVENT:
        return readLoopEvent(line, base);
      case 'usage.record':
        return readUsageRecord(line, base);
      case 'context.apply_compaction':
        state.isCompacted = true;
        return readCompaction(line, base);
      case 'full_compaction.complete': {
        const isTold = state.isCompacted;
        state.isCompacted = false;
        return isTold ? [] : readCompaction(line, base);
      }
      default:
        return unread.read(type, line);
    }
  };

  return {
    state,
    read(line) {
      const message = readObject(line.message);
      const isOld = typeof message?.type === 'string' && line.type === undefined;
      const type = readType(isOld ? message.type : line.type);
      if (type === undefined) return { type, timestampMs: undefined, records: [] };
      const timestampMs = kit.toTimeMs(line.time ?? line.timestamp ?? line.created_at);
      const base = { timestampMs };
      const records = isOld
        ? cli.read(type, readObject(message.payload) ?? {}, base, state.model)
        : readRecord(type, line, base);
      return { type, timestampMs, records };
    },
    readEnd: cli.readEnd,
  };
}

/** The texts of a content, by which it is recognised when it is repeated; empty if it has none. */
function toTextKey(content: JsonValue | undefined): string {
  const parts = Array.isArray(content) ? content : [content ?? ''];
  const text = parts.map((part) => readText(readObject(part)?.text) ?? readText(part) ?? '').join('\n');
  return text.length <= MAX_PROMPT_LENGTH ? text : `${text.length} ${text.slice(0, MAX_PROMPT_LENGTH)}`;
}
