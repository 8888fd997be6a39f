import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { MessageRecord, TranscriptRecord } from '../../records/records.ts';
import type { Reader, ReaderContext, ReadLine } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import { createReaderKit, parseJsonText, readType, toSessionRecord } from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { createUnreadLines } from '../unread-lines.ts';
import { createCliMessageReader, createKimiCliState, type KimiCliState, toOutput } from './cli-messages.ts';
import { beginStep, createKimiMirrors, endStep, type KimiMirrors, matchRecord, toSignature } from './mirrors.ts';
import { KIMI_TOOLS } from './tools.ts';
import { KIMI_CODE_UNREAD } from './unread-types.ts';
import { readCodeUsage } from './usage.ts';

/** The state of the reader of a `wire.jsonl`. */
interface KimiReaderState {
  /** As the session names it, which may be an alias. */
  model: string | null;
  /** The model that the request of the open step names. */
  stepModel: string | null;
  /** The facts of the latest requests about the models behind aliases. */
  aliases: Map<string, string>;
  mirrors: KimiMirrors;
  /** Texts of the latest prompts, which the context repeats. */
  prompts: string[];
  /** True if the current compaction was reported. */
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
 * Reads `wire.jsonl`, which has records of Kimi Code (`turn.prompt`, `context.append_loop_event`, `usage.record`), and
 * messages of the older Kimi CLI, see createCliMessageReader.
 */
export function createKimiReader(context: ReaderContext, state = createState()): Reader {
  return new KimiReader(context, state);
}

class KimiReader extends StatefulReader<KimiReaderState> {
  readonly #kit = createReaderKit(this.context, KIMI_TOOLS);
  readonly #unread = createUnreadLines(KIMI_CODE_UNREAD, this.context);
  readonly #cli = createCliMessageReader(this.#kit, this.context, this.state.cli);
  readonly #mirrors = this.state.mirrors;

  read(line: JsonObject): ReadLine {
    const message = readObject(line.message);
    const isOld = typeof message?.type === 'string' && line.type === undefined;
    const type = readType(isOld ? message.type : line.type);
    if (type === undefined) return { type, timestampMs: undefined, records: [] };
    const timestampMs = this.#kit.toTimeMs(line.time ?? line.timestamp ?? line.created_at);
    const base = { timestampMs };
    const records = isOld
      ? this.#cli.read(type, readObject(message.payload) ?? {}, base, this.state.model)
      : this.#readRecord(type, line, base);
    return { type, timestampMs, records };
  }

  readEnd(): TranscriptRecord[] {
    return this.#cli.readEnd();
  }

  #toModel(name: string | null): string | null {
    return name === null ? null : (this.state.aliases.get(name) ?? name);
  }

  #toAnswer(known: Partial<MessageRecord>): TranscriptRecord[] {
    return [newMessage('assistant', { model: this.#toModel(this.state.stepModel ?? this.state.model), ...known })];
  }

  #compareMirrors(one: string, other: string): void {
    const [input = 0, output = 0, read = 0, written = 0] = one.split('.').map(Number);
    const [otherInput = 0, otherOutput = 0, otherRead = 0, otherWritten = 0] = other.split('.').map(Number);
    compareTotal('Output tokens of a step and of its usage.record', output, otherOutput, this.context);
    const sum = otherInput + otherRead + otherWritten;
    compareTotal(
      'Input tokens with caches of a step and of its usage.record',
      input + read + written,
      sum,
      this.context,
    );
  }

  #readPrompt(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    this.state.prompts.push(toTextKey(line.input));
    if (this.state.prompts.length > MAX_PROMPTS) this.state.prompts.shift();
    const isByUser = (readText(readObject(line.origin)?.kind) ?? 'user') === 'user';
    if (isByUser) return this.#kit.toPromptRecords(line.input, base, null);
    return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: this.#kit.toBlocks(line.input) })];
  }

  /**
   * `context.append_message` has prompts and reminders, which the file or the program has already; else the content of
   * an imported session, or what commands, hooks and tasks have told the model.
   */
  #readContextMessage(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const message = readObject(line.message) ?? {};
    const origin = readText(readObject(message.origin)?.kind);
    if (message.role === 'assistant') {
      const calls = (Array.isArray(message.toolCalls) ? message.toolCalls : []).filter(isJsonObject);
      const called = calls.flatMap(({ id, name, arguments: input }) =>
        this.#kit.toToolUseBlocks({ id, name, input: parseJsonText(readText(input) ?? '') ?? input }),
      );
      return this.#toAnswer({ ...base, blocks: [...this.#toPartBlocks(message.content), ...called] });
    }
    if (message.role === 'tool') {
      const isError = message.isError === true;
      return [this.#kit.toToolResultMessage({ id: message.toolCallId, content: message.content, isError }, base)];
    }
    const key = toTextKey(message.content);
    if (origin === 'injection' || key === '' || this.state.prompts.includes(key)) return [];
    return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: this.#kit.toBlocks(message.content) })];
  }

  #toPartBlocks(content: JsonValue | undefined) {
    return (Array.isArray(content) ? content : [content ?? '']).flatMap((part) =>
      isJsonObject(part) && part.type === 'think'
        ? this.#kit.toBlocks([{ type: 'thinking', thinking: part.think ?? '' }])
        : this.#kit.toBlocks(typeof part === 'string' ? part : [part]),
    );
  }

  #readStepEnd(event: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const uuid = this.#kit.toId(event.uuid);
    const usage = readCodeUsage(this.#kit, this.#kit.toUsagePart(event, 'usage'));
    if (usage === undefined) {
      beginStep(this.#mirrors, null);
      return [];
    }
    const match = endStep(this.#mirrors, uuid, usage);
    if (match.other !== undefined) this.#compareMirrors(toSignature(usage), match.other);
    const stopReason = this.#kit.toId(event.finishReason) ?? 'stop';
    // A record that counts under its own key has counted it.
    const isCounted = match.isMirror && match.responseId !== uuid;
    return this.#toAnswer({ ...base, responseId: uuid, stopReason, usage: isCounted ? undefined : usage });
  }

  #readLoopEvent(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const event = readObject(line.event) ?? {};
    const responseId = this.#kit.toId(event.stepUuid ?? event.uuid);
    switch (event.type) {
      case 'step.begin':
        beginStep(this.#mirrors, responseId);
        this.state.stepModel = null;
        return [];
      case 'content.part':
        return this.#toAnswer({ ...base, responseId, blocks: this.#toPartBlocks([event.part ?? {}]) });
      case 'tool.call': {
        const blocks = this.#kit.toToolUseBlocks({ id: event.toolCallId, name: event.name, input: event.args });
        return this.#toAnswer({ ...base, responseId, blocks });
      }
      case 'tool.result': {
        const result = readObject(event.result);
        const content = toOutput(result?.output, result?.message, result?.note);
        return [
          this.#kit.toToolResultMessage({ id: event.toolCallId, content, isError: result?.isError === true }, base),
        ];
      }
      case 'step.end':
        return this.#readStepEnd(event, base);
      default: {
        const type = readType(event.type);
        return this.#unread.read(LOOP_EVENT, line, type === undefined ? LOOP_EVENT : `${LOOP_EVENT}/${type}`);
      }
    }
  }

  /** Repeats a step's usage, except for requests outside the loop, which are only recorded here. */
  #readUsageRecord(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const usage = readCodeUsage(this.#kit, this.#kit.toUsagePart(line, 'usage'));
    if (usage === undefined) return [];
    const { timestampMs } = base;
    const { responseId, isMirror, other } = matchRecord(this.#mirrors, usage, readText(line.usageScope));
    const named = this.#kit.toId(line.model);
    const model = this.#toModel(named ?? this.state.model);
    const isFirstName = this.state.model === null && model !== null;
    this.state.model ??= named;
    if (isMirror && other === undefined) return isFirstName ? [newMessage('assistant', { responseId, model })] : [];
    if (other !== undefined) {
      this.#compareMirrors(other, toSignature(usage));
      return [newMessage('assistant', { responseId, model, usage })];
    }
    if (responseId !== null) this.state.stepModel ??= named;
    const key = responseId ?? `kimi/${timestampMs ?? ''}/${toSignature(usage)}`;
    return [newUsageRecord({ usage, responseId: key, model, timestampMs, stopReason: 'stop' })];
  }

  #readCompaction(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const preTokens = this.#kit.toCount(line, 'tokensBefore');
    const details = preTokens > 0 ? { preTokens } : {};
    const event = this.#kit.toEvent({ kind: 'compaction', name: null, details }, null, base.timestampMs);
    const summary = readObject(line.summary)?.content ?? line.contextSummary ?? line.summary;
    const blocks = this.#toPartBlocks(summary);
    return blocks.length === 0 ? [event] : [event, newMessage('summary', { ...base, blocks })];
  }

  #readTurnEnd(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const error = readObject(line.error);
    const text = readText(error?.message);
    if (text === null) return [];
    const event = { kind: 'api_error', name: this.#kit.toId(error?.code), details: {} } as const;
    return [
      this.#kit.toEvent(event, null, base.timestampMs),
      newMessage('system', { ...base, blocks: this.#kit.toBlocks(text) }),
    ];
  }

  /** Model and folder of the session: `config.update`, from protocol 1.5 on `profile.bind`. */
  #readProfile(line: JsonObject): TranscriptRecord[] {
    this.state.model = this.#kit.toId(line.modelAlias) ?? this.state.model;
    this.state.stepModel = null;
    const cwd = this.#kit.toId(line.cwd) ?? this.#kit.toId(readObject(line.environmentDisclosure)?.cwd);
    return [toSessionRecord({ cwd }) ?? []].flat();
  }

  #rememberAlias(line: JsonObject): void {
    const alias = this.#kit.toId(line.modelAlias);
    const model = this.#kit.toId(line.model);
    // `moonshot-ai/kimi-k3` names its model, and its provider besides.
    if (alias === null || model === null || alias.endsWith(model)) return;
    this.state.aliases.set(alias, model);
    if (this.state.aliases.size > MAX_ALIASES)
      this.state.aliases.delete(this.state.aliases.keys().next().value ?? alias);
  }

  #readRecord(type: string, line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    switch (type) {
      case 'config.update':
      case 'profile.bind':
        return this.#readProfile(line);
      case 'llm.request':
        this.#rememberAlias(line);
        if (this.#mirrors.openStep !== null)
          this.state.stepModel = this.#kit.toId(line.modelAlias) ?? this.state.stepModel;
        return [];
      case 'turn.prompt':
      case 'turn.steer':
        return this.#readPrompt(line, base);
      case 'turn.ended':
        return this.#readTurnEnd(line, base);
      case 'context.append_message':
        return this.#readContextMessage(line, base);
      case LOOP_EVENT:
        return this.#readLoopEvent(line, base);
      case 'usage.record':
        return this.#readUsageRecord(line, base);
      case 'context.apply_compaction':
        this.state.isCompacted = true;
        return this.#readCompaction(line, base);
      case 'full_compaction.complete': {
        const isTold = this.state.isCompacted;
        this.state.isCompacted = false;
        return isTold ? [] : this.#readCompaction(line, base);
      }
      default:
        return this.#unread.read(type, line);
    }
  }
}

/** The texts of a content, that identify its repetitions; empty if it has none. */
function toTextKey(content: JsonValue | undefined): string {
  const parts = Array.isArray(content) ? content : [content ?? ''];
  const text = parts.map((part) => readText(readObject(part)?.text) ?? readText(part) ?? '').join('\n');
  return text.length <= MAX_PROMPT_LENGTH ? text : `${text.length} ${text.slice(0, MAX_PROMPT_LENGTH)}`;
}
