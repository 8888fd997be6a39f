import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import { MAX_TOKENS_PER_SESSION } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReaderLine, ReadLine } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import {
  createReaderKit,
  type ReaderKit,
  readType,
  type ToolVocabulary,
  toCutTitle,
  toSessionRecord,
  toUsageIfAny,
} from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import {
  createUnreadLines,
  newUnknown,
  reportUnknownCounts,
  reportUnreadContent,
  type UnreadTypes,
} from '../unread-lines.ts';
import { addCustomModel, type CustomModels, createCustomModels, toRealModel } from './custom-model.ts';

const TOOLS: ToolVocabulary = {
  read: ['read', 'view_file'],
  edit: ['edit', 'multiedit', 'create', 'write', 'applypatch', 'apply_patch'],
  shell: ['execute', 'bash', 'shell'],
  search: ['ls', 'grep', 'glob', 'search'],
  web: ['websearch', 'fetchurl'],
  agent: ['task'],
  skill: ['skill'],
  plan: ['todowrite', 'exitspecmode'],
  question: ['askuser'],
};

/** Lines that are not read. Types of Droid 0.81. */
const UNREAD: UnreadTypes = {
  todo_state: { why: 'repeats what the tool TodoWrite was called with', mayHold: ['todos', 'todos.*'] },
  session_end: { why: 'repeats the last message', mayHold: ['finalText'] },
  mode_change: { why: 'a setting' },
  model_change: { why: 'a setting' },
  droid_working_state: { why: 'says whether Droid works' },
};

/** Token counts of a session's settings. */
const COUNTS = ['inputTokens', 'outputTokens', 'cacheCreationTokens', 'cacheReadTokens'] as const;
/** Texts that Droid writes in the user's name. */
const REMINDER = /<system-(?:reminder|notification)>[\s\S]*?<\/system-(?:reminder|notification)>\s*/g;

/** Reads Droid's session files. Their messages have the Anthropic API's blocks and no usage. */
export function createDroidReader(context: ReaderContext, state = { model: null as string | null }): Reader {
  const kit = createReaderKit(context, TOOLS);
  const unread = createUnreadLines(UNREAD, context);

  const readMessage = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const message = readObject(line.message) ?? {};
    // No version seen has any here; the settings have the session's.
    reportUnreadContent('message', { usage: message.usage ?? null, tokenUsage: line.tokenUsage ?? null }, context);
    if (message.role === 'assistant') {
      const blocks = toBlocks(message, kit, base.timestampMs);
      const model = toRealModel(kit.toId(message.model)) ?? state.model;
      return [newMessage('assistant', { ...base, model, blocks })];
    }
    return readUser(message, base, kit);
  };

  const readLine = (type: string, line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] | undefined => {
    switch (type) {
      case 'session_start': {
        const version = typeof line.version === 'string' ? line.version : null;
        const session = toSessionRecord({ sessionId: kit.toId(line.id), cwd: kit.toId(line.cwd), version });
        const title = readText(line.sessionTitle) ?? readText(line.title);
        const source = line.isSessionTitleManuallySet === true ? 'custom' : 'generated';
        return [session ?? [], title === null ? [] : toCutTitle(source, title)].flat();
      }
      case 'message':
        return readMessage(line, base);
      case 'compaction_state': {
        const event = { kind: 'compaction', name: null, details: {} } as const;
        const summary = newMessage('summary', { ...base, blocks: kit.toBlocks(line.summaryText ?? line.summary) });
        return [kit.toEvent(event, base.uuid ?? null, base.timestampMs), summary];
      }
      default:
        return undefined;
    }
  };

  return {
    state,
    read(line) {
      const type = readType(line.type);
      if (type === undefined) return { type, timestampMs: undefined, records: [] };
      const timestampMs = kit.toTimeMs(line.timestamp);
      const base = { timestampMs, uuid: kit.toId(line.id), parentUuid: kit.toId(line.parentId) };
      return { type, timestampMs, records: readLine(type, line, base) ?? unread.read(type, line) };
    },
  };
}

interface DroidSettingsState {
  model: string | null;
  /** The models behind the names of the user's own ones. */
  customModels: CustomModels;
  timestampMs: number | undefined;
  tokens: JsonObject | undefined;
  /** The usage of the session with its sub-agents, which have separate settings. */
  inclusive: JsonObject | undefined;
  /** The usage of its sub-agents together, by class. */
  children: Record<string, number> | undefined;
}

/** Counts of the settings; credits are no dollars. */
const TOKEN_FIELDS: ReadonlySet<string> = new Set([
  ...['inputTokens', 'outputTokens', 'cacheCreationTokens', 'cacheReadTokens', 'thinkingTokens', 'factoryCredits'],
]);

/** Members of the settings that are read, also for what their session was. */
const READ_SETTINGS = new Set([
  ...[
    'model',
    'customModels',
    'providerLockTimestamp',
    'tokenUsage',
    'inclusiveTokenUsage',
    'childInclusiveTokenUsageBySessionId',
  ],
]);

/**
 * Reads `<id>.settings.json`, the session's totals, as one response for the whole session, with larger counts in later
 * versions. Entries come in any order, and the total is reported as soon as it is available.
 */
export function createDroidSettingsReader(
  context: ReaderContext,
  state: DroidSettingsState = {
    ...{ model: null, customModels: createCustomModels(), timestampMs: undefined },
    ...{ tokens: undefined, inclusive: undefined, children: undefined },
  },
): Reader {
  const kit = createReaderKit(context, {});

  const toTotal = (): TranscriptRecord[] => {
    const { tokens, timestampMs } = state;
    if (tokens === undefined) return [];
    const thinkingTokens = toSessionCount(tokens, 'thinkingTokens', kit);
    const outputTokens = toSessionCount(tokens, 'outputTokens', kit);
    const usage = toUsageIfAny({
      inputTokens: toSessionCount(tokens, 'inputTokens', kit),
      outputTokens,
      cacheReadTokens: toSessionCount(tokens, 'cacheReadTokens', kit),
      cacheWriteTokens: toSessionCount(tokens, 'cacheCreationTokens', kit),
      thinkingTokens: Math.min(thinkingTokens, outputTokens),
    });
    if (usage === undefined) return [];
    const responseId = `droid-session/${context.sessionId ?? ''}`;
    const model = toRealModel(state.model, state.customModels);
    return [newUsageRecord({ usage, responseId, model, timestampMs, stopReason: 'stop' })];
  };

  return {
    state,
    read(line) {
      const [type = 'member'] = Object.keys(line);
      state.model = kit.toId(line.model) ?? state.model;
      if (line.customModels !== undefined) addCustomModel(state.customModels, line.customModels);
      state.timestampMs = kit.toTimeMs(line.providerLockTimestamp) ?? state.timestampMs;
      state.tokens = kit.toUsagePart(line, 'tokenUsage') ?? state.tokens;
      reportUnknownCounts(readObject(line.tokenUsage), TOKEN_FIELDS, context);
      state.inclusive = kit.toUsagePart(line, 'inclusiveTokenUsage') ?? state.inclusive;
      const children = readObject(line.childInclusiveTokenUsageBySessionId);
      if (children !== undefined) state.children = toSums(Object.values(children), kit);
      if (!READ_SETTINGS.has(type)) reportUnreadContent(type, line, context);
      // The model and time may follow the counts. Reporting again adds what was missing.
      const isTelling = ['tokenUsage', 'model', 'customModels', 'providerLockTimestamp'].includes(type);
      const records = isTelling ? toTotal() : [];
      return { type: readType(type) ?? 'member', timestampMs: state.timestampMs, records };
    },
    finish() {
      const { tokens, inclusive, children } = state;
      if (inclusive === undefined || children === undefined) return;
      for (const field of COUNTS) {
        const counted = toSessionCount(tokens ?? {}, field, kit) + (children[field] ?? 0);
        const what = `${field} of the session with its sub-agents`;
        compareTotal(what, toSessionCount(inclusive, field, kit), counted, context);
      }
    },
  };
}

/** Reads the output of `droid exec --output-format stream-json`. It states the run's usage at the end. */
export function createDroidStreamReader(
  context: ReaderContext,
  state = { sessionId: null as string | null, model: null as string | null, runCount: 0 },
): Reader {
  return new DroidStreamReader(context, state);
}

class DroidStreamReader extends StatefulReader<{ sessionId: string | null; model: string | null; runCount: number }> {
  readonly #kit = createReaderKit(this.context, TOOLS);

  read(line: JsonObject, { arrivalMs }: ReaderLine): ReadLine {
    const type = readType(line.type);
    if (type === undefined) return { type, timestampMs: undefined, records: [] };
    const timestampMs = this.#kit.toTimeMs(line.timestamp) ?? arrivalMs;
    this.state.sessionId ??= this.#kit.toId(line.sessionId ?? line.session_id);
    const records = this.#readLine(type, line, { timestampMs }) ?? [newUnknown(type, line)];
    return { type, timestampMs, records };
  }

  #readCompletion(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const tokens = this.#kit.toUsagePart(line, 'usage');
    this.state.runCount++;
    const usage =
      tokens &&
      toUsageIfAny({
        inputTokens: this.#kit.toCount(tokens, 'input_tokens'),
        outputTokens: this.#kit.toCount(tokens, 'output_tokens'),
        cacheReadTokens: this.#kit.toCount(tokens, 'cache_read_input_tokens'),
        cacheWriteTokens: this.#kit.toCount(tokens, 'cache_creation_input_tokens'),
      });
    if (usage === undefined) return [];
    const responseId = `droid-run/${this.state.sessionId ?? ''}/${base.timestampMs ?? this.state.runCount}`;
    const { timestampMs } = base;
    return [newUsageRecord({ usage, responseId, model: this.state.model, timestampMs, stopReason: 'stop' })];
  }

  #readLine(type: string, line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] | undefined {
    const { model } = this.state;
    switch (type) {
      case 'system': {
        this.state.model = toRealModel(this.#kit.toId(line.model)) ?? model;
        const sessionId = this.#kit.toId(line.sessionId ?? line.session_id);
        this.state.sessionId = sessionId ?? this.state.sessionId;
        return [toSessionRecord({ sessionId, cwd: this.#kit.toId(line.cwd) }) ?? []].flat();
      }
      case 'message':
        if (line.role === 'user') return readUser({ content: line.text ?? null }, base, this.#kit);
        return [newMessage('assistant', { ...base, model, blocks: this.#kit.toBlocks(line.text) })];
      case 'reasoning':
        return [
          newMessage('assistant', {
            ...base,
            model,
            blocks: this.#kit.toBlocks([{ type: 'thinking', thinking: line.text ?? '' }]),
          }),
        ];
      case 'tool_call': {
        const source = { id: line.toolCallId ?? line.id, name: line.toolName ?? line.toolId, input: line.parameters };
        return [newMessage('assistant', { ...base, model, blocks: this.#kit.toToolUseBlocks(source) })];
      }
      case 'tool_result': {
        const value = readObject(line.value);
        const exitCode = value?.exitCode;
        const isError = line.isError === true || (typeof exitCode === 'number' && exitCode !== 0);
        const texts = [value?.stdout, value?.stderr].filter((text) => typeof text === 'string' && text !== '');
        const shown = texts.length > 0 ? texts.join('\n') : JSON.stringify(value);
        const content = value === undefined ? line.value : 'stdout' in value ? texts.join('\n') : shown;
        return [this.#kit.toToolResultMessage({ id: line.toolCallId ?? line.id, content, isError }, base)];
      }
      case 'completion':
        // The final text repeats the last message.
        return this.#readCompletion(line, base);
      case 'error':
        return [
          this.#kit.toEvent(
            { kind: 'api_error', name: this.#kit.toId(line.source), details: {} },
            null,
            base.timestampMs,
          ),
          ...this.#kit.toSystemMessages(line.message ?? line.error, base),
        ];
      default:
        return undefined;
    }
  }
}

function readUser(message: JsonObject, base: Partial<MessageRecord>, kit: ReaderKit): TranscriptRecord[] {
  const elements = Array.isArray(message.content) ? message.content : [message.content ?? ''];
  if (elements.some((element) => readObject(element)?.type === 'tool_result')) {
    return [newMessage('user', { ...base, blocks: toBlocks(message, kit, base.timestampMs) })];
  }
  const typed = elements.flatMap((element) => {
    const text = typeof element === 'string' ? element : readObject(element)?.text;
    return typeof text === 'string' ? text.replaceAll(REMINDER, '').trim() : [];
  });
  const prompt = typed.find((text) => text !== '');
  const hasMedia = elements.some((element) => isJsonObject(element) && element.type !== 'text');
  if (prompt === undefined && !hasMedia) {
    return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: kit.toBlocks(message.content) })];
  }
  const records = kit.toPromptRecords(message.content, base, base.uuid ?? null);
  if (prompt === undefined) return records;
  return records.map((record) =>
    record.kind === 'message' ? { ...record, promptText: kit.toPromptText(prompt) } : record,
  );
}

function toBlocks(message: JsonObject, kit: ReaderKit, timestampMs: number | undefined): BlockContent[] {
  const elements = Array.isArray(message.content) ? message.content : [message.content ?? ''];
  return elements.flatMap((element): BlockContent[] => {
    const block = readObject(element);
    if (block?.type === 'tool_use') return kit.toToolUseBlocks({ id: block.id, name: block.name, input: block.input });
    if (block?.type !== 'tool_result') return kit.toBlocks([element]);
    const { tool_use_id: id, content } = block;
    const isError = block.is_error === true || (typeof content === 'string' && content.startsWith('Error: '));
    return kit.toToolResultBlocks({ id, content, isError }, timestampMs);
  });
}

function toSessionCount(tokens: JsonObject, field: string, kit: ReaderKit): number {
  return kit.toCount(tokens, field, MAX_TOKENS_PER_SESSION);
}

function toSums(usages: readonly JsonValue[], kit: ReaderKit): Record<string, number> {
  const toSum = (field: string): number =>
    usages.reduce<number>((sum, usage) => sum + toSessionCount(readObject(usage) ?? {}, field, kit), 0);
  return Object.fromEntries(COUNTS.map((field) => [field, toSum(field)]));
}
