import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, isJsonObject, readObject, readText } from '../../records/fields.ts';
import { newMessage } from '../../records/new-records.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import { MAX_TOKENS_PER_FIELD, type Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReadLine } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import {
  createReaderKit,
  type ReaderKit,
  type ToolVocabulary,
  toCutTitle,
  toSessionRecord,
  toUsageIfAny,
} from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { createUnreadLines, newUnknown, reportUnknownCounts, type UnreadTypes } from '../unread-lines.ts';
import { readStoredParts, readTitle, toApiBlocks, toParts, toText } from './parts.ts';

export const GEMINI_TOOLS: ToolVocabulary = {
  read: ['read_file', 'read_many_files'],
  edit: ['replace', 'write_file', 'edit', 'edit_file'],
  shell: ['run_shell_command', 'shell'],
  search: ['list_directory', 'glob', 'search_file_content', 'grep_search', 'grep', 'ls'],
  web: ['google_web_search', 'web_fetch', 'web_search'],
  agent: ['task', 'delegate_to_agent', 'codebase_investigator', 'cli_help', 'generalist', 'invoke_agent', 'agent'],
  skill: ['activate_skill', 'skill'],
  plan: ['write_todos', 'todo_write', 'enter_plan_mode', 'exit_plan_mode', 'save_memory'],
  question: ['ask_user', 'ask_user_question'],
};

/**
 * Not prompts, but commands to the program, and text that it writes in the user's name. Matches what Gemini CLI itself
 * excludes.
 */
const NO_PROMPT = /^\s*(?:[/?]|<session_context>|<hook_context>|$)/;
/** The first folder that the context of a session names; older versions name one in a sentence. */
const WORKSPACE =
  /(?:Workspace Directories:\**\s*\n\s*- |working in the (?:following directories:\s*\n\s*- |directory: ))([^\n]+)/;
/** Shorter ids are numbers, as in documents of other programs. */
const MIN_UNIQUE_ID_LENGTH = 20;
/** Messages whose earlier lines are remembered; the oldest are dropped. Messages are rewritten within a few lines. */
const MAX_REMEMBERED_MESSAGES = 4000;

/** The parts of a message that were read from earlier lines. It is rewritten as a whole when it grows. */
interface KnownMessage {
  textLength: number;
  thoughtCount: number;
  /** Its total has been compared. */
  hasTotal: boolean;
  /** Call ids; true once the result is read. */
  calls: Map<string, boolean>;
  /** It was first in the remains of a compression, see `readKept`. */
  isKept: boolean;
}

interface GeminiReaderState {
  messages: Map<string, KnownMessage>;
  /** Types and hashes of the texts of messages with separate lines. */
  texts: Set<string>;
  isSubagent: boolean;
  /** Tokens of all responses that state a total, and what was counted of them. */
  totals: { stated: number; counted: number };
}

/** Members of a document or a header, and fields of `$set`, that are read, or name and date what is. */
const READ_MEMBERS: ReadonlySet<string> = new Set([
  ...['sessionId', 'projectHash', 'startTime', 'lastUpdated', 'kind', 'directories', 'summary', 'messages'],
]);
/** https://github.com/google-gemini/gemini-cli packages/core/src/services/chatRecordingTypes.ts */
const UNREAD_MEMBERS: UnreadTypes = {
  memoryScratchpad: {
    why: 'notes about the session for the memory of later ones',
    mayHold: ['memoryScratchpad'],
  },
};
const USAGE_FIELDS: ReadonlySet<string> = new Set(['input', 'output', 'cached', 'thoughts', 'tool', 'total']);

/**
 * Reads session files of Gemini CLI: the document `{sessionId, projectHash, startTime, messages}` of versions before
 * 0.40, entry by entry, and the lines of later ones, which are a header, messages, which are rewritten when they grow,
 * `{"$set":{…}}` and `{"$rewindTo":"…"}`. Messages that were rewound still count, because they were paid for.
 */
export function createGeminiReader(
  context: ReaderContext,
  state: GeminiReaderState = {
    messages: new Map(),
    texts: new Set(),
    isSubagent: context.isSubagent === true,
    totals: { stated: 0, counted: 0 },
  },
): Reader {
  return new GeminiReader(context, state);
}

class GeminiReader extends StatefulReader<GeminiReaderState> {
  readonly #kit = createReaderKit(this.context, GEMINI_TOOLS);
  readonly #unread = createUnreadLines(UNREAD_MEMBERS, this.context);

  read(line: JsonObject): ReadLine {
    const set = readObject(line.$set);
    const message = readObject(line.messages) ?? (typeof line.type === 'string' ? line : undefined);
    if (message !== undefined) {
      this.#rememberText(message);
      return { type: readText(message.type) ?? 'message', ...this.#readMessage(message) };
    }
    // A header may hold the messages of an older file; a patch may hold all that remain after a compression.
    const header = set ?? line;
    const messages = Array.isArray(header.messages) ? header.messages.filter(isJsonObject) : [];
    const records = [...this.#readHeader(header), ...messages.flatMap(this.#readKept)];
    if (set !== undefined) return { type: '$set', timestampMs: undefined, records };
    if ('$rewindTo' in line) return { type: '$rewindTo', timestampMs: undefined, records };
    return { type: 'header', timestampMs: this.#kit.toTimeMs(line.startTime ?? line.lastUpdated), records };
  }

  finish(): void {
    compareTotal('Tokens of all responses', this.state.totals.stated, this.state.totals.counted, this.context);
  }

  #recall(id: string): KnownMessage {
    const known = this.state.messages.get(id) ?? {
      textLength: 0,
      thoughtCount: 0,
      hasTotal: false,
      calls: new Map(),
      isKept: false,
    };
    this.state.messages.delete(id);
    this.state.messages.set(id, known);
    const [oldest] = this.state.messages.keys();
    if (this.state.messages.size > MAX_REMEMBERED_MESSAGES && oldest !== undefined) this.state.messages.delete(oldest);
    return known;
  }

  #rememberText(message: JsonObject): void {
    const key = toTextKey(message);
    if (key === undefined) return;
    this.state.texts.add(key);
    const [oldest] = this.state.texts;
    if (this.state.texts.size > MAX_REMEMBERED_MESSAGES && oldest !== undefined) this.state.texts.delete(oldest);
  }

  #readHeader(line: JsonObject): TranscriptRecord[] {
    if (line.kind === 'subagent') this.state.isSubagent = true;
    // The entries of a document have one directory each.
    const [directory] = [line.directories].flat();
    const session = toSessionRecord({ sessionId: this.#kit.toId(line.sessionId), cwd: this.#kit.toId(directory) });
    const summary = readTitle(line.summary);
    const others = Object.entries(line).filter(([name]) => !READ_MEMBERS.has(name) && !name.startsWith('$'));
    return [
      session ?? [],
      summary === null ? [] : toCutTitle('summary', summary),
      others.flatMap(([name, value]) => this.#unread.read(name, { [name]: value })),
    ].flat();
  }

  /** `tokens.total` is the sum of the classes, without `cached`, which `input` contains. */
  #observeTotal(tokens: JsonObject, usage: Usage | undefined, known: KnownMessage): void {
    const stated = this.#kit.toCount(tokens, 'total', MAX_TOKENS_PER_FIELD);
    reportUnknownCounts(tokens, USAGE_FIELDS, this.context);
    if (known.hasTotal || stated === 0 || usage === undefined) return;
    known.hasTotal = true;
    this.state.totals.stated += stated;
    this.state.totals.counted += usage.inputTokens + usage.cacheReadTokens + usage.outputTokens;
  }

  #readAssistant(message: JsonObject, base: Partial<MessageRecord>, known: KnownMessage): TranscriptRecord[] {
    const thoughts = (Array.isArray(message.thoughts) ? message.thoughts : []).filter(isJsonObject);
    const blocks: BlockContent[] = thoughts.slice(known.thoughtCount).flatMap(({ subject, description }) => {
      const thinking = [readText(subject) ?? [], readText(description) ?? []].flat().join('\n');
      return this.#kit.toBlocks([{ type: 'thinking', thinking }]);
    });
    known.thoughtCount = Math.max(known.thoughtCount, thoughts.length);
    const text = toText(message.content ?? message.parts);
    if (text.length > known.textLength) blocks.push(...this.#kit.toBlocks(text.slice(known.textLength)));
    known.textLength = Math.max(known.textLength, text.length);
    const results: TranscriptRecord[] = [];
    for (const call of (Array.isArray(message.toolCalls) ? message.toolCalls : []).filter(isJsonObject)) {
      const id = readText(call.id) ?? '';
      if (!known.calls.has(id)) {
        blocks.push(...this.#kit.toToolUseBlocks({ id: call.id, name: call.name, input: call.args }));
        known.calls.set(id, false);
      }
      const result = known.calls.get(id) === true ? undefined : this.#toResult(call, base);
      if (result !== undefined) {
        known.calls.set(id, true);
        results.push(result);
      }
    }
    const tokens = this.#kit.toUsagePart(message, 'tokens');
    const usage = tokens && toGeminiUsage(tokens, this.#kit);
    if (tokens !== undefined) this.#observeTotal(tokens, usage, known);
    const response = {
      ...{ responseId: toResponseId(message), usage, stopReason: 'stop' },
      ...{ model: this.#kit.toId(message.model), blocks },
    };
    return [newMessage('assistant', { ...base, ...response }), ...results];
  }

  #toResult(call: JsonObject, base: Partial<MessageRecord>): MessageRecord | undefined {
    const { id, status, result } = call;
    if (status !== 'success' && status !== 'error' && status !== 'cancelled') return undefined;
    const timestampMs = this.#kit.toTimeMs(call.timestamp) ?? base.timestampMs;
    const source = { id, content: toOutput(result) ?? call.resultDisplay, isError: status !== 'success' };
    const { isSidechain = false } = base;
    const about = { isDenied: status === 'cancelled', subagentId: this.#kit.toId(call.agentId) };
    return this.#kit.toToolResultMessage({ ...source, ...about }, { timestampMs, isSidechain });
  }

  #readUser(message: JsonObject, base: Partial<MessageRecord>, known: KnownMessage): TranscriptRecord[] {
    const content = readStoredParts(message.content ?? message.parts);
    const text = toText(content);
    // Results are in the calls of the previous message.
    const blocks = toApiBlocks(content).filter(({ type }) => type !== 'tool_result');
    if (known.textLength > 0 || blocks.length === 0) return [];
    known.textLength = Math.max(1, text.length);
    if (NO_PROMPT.test(text) && blocks.every(({ type }) => type === 'text')) {
      const command = /^\s*(\/[\w-]+)/.exec(text)?.[1];
      const cwd = this.#kit.toId(WORKSPACE.exec(text)?.[1]?.trim());
      const session = toSessionRecord({ cwd });
      const event = { kind: 'slash_command', name: command ?? null, details: {} } as const;
      const said = newMessage('user', { ...base, metadata: { isMeta: true }, blocks: this.#kit.toBlocks(text) });
      const used = command === undefined ? [] : [this.#kit.toEvent(event, base.uuid ?? null, base.timestampMs, base)];
      return [session ?? [], used, said].flat();
    }
    // The content holds the files that the person referred to as well.
    const typed = toText(readStoredParts(message.displayContent)).trim();
    return this.#kit
      .toPromptRecords(blocks, base, base.uuid ?? null)
      .map((record) =>
        record.kind === 'message' && typed !== '' ? { ...record, promptText: this.#kit.toPromptText(typed) } : record,
      );
  }

  #readMessage(message: JsonObject): { timestampMs: number | undefined; records: TranscriptRecord[] } {
    const timestampMs = this.#kit.toTimeMs(message.timestamp);
    const base = { timestampMs, uuid: this.#kit.toId(message.id), isSidechain: this.state.isSubagent };
    const known = this.#recall(toMessageKey(message));
    const isNew = known.textLength === 0;
    switch (message.type) {
      case 'user':
        return { timestampMs, records: this.#readUser(message, base, known) };
      case 'gemini':
      case 'model':
        return { timestampMs, records: this.#readAssistant(message, base, known) };
      case 'info':
      case 'warning':
      case 'error': {
        known.textLength = 1;
        const event = { kind: 'api_error', name: null, details: {} } as const;
        const error = this.#kit.toEvent(event, base.uuid, timestampMs, base);
        const said = newMessage('system', {
          ...base,
          metadata: { level: message.type },
          blocks: this.#kit.toBlocks(toText(message.content)),
        });
        if (!isNew) return { timestampMs, records: [] };
        return { timestampMs, records: message.type === 'error' ? [error, said] : [said] };
      }
      default: {
        const type = cutCharacters(readText(message.type) ?? 'message', 64);
        return { timestampMs, records: [newUnknown(type, message)] };
      }
    }
  }

  /**
   * A message of `$set` that has had no separate line. A compression writes the messages that it keeps under new ids.
   * Those are copies, and the rest is its summary. What a person types always has a line first.
   */
  readonly #readKept = (message: JsonObject): TranscriptRecord[] => {
    const known = this.#recall(toMessageKey(message));
    if (known.isKept) return [];
    const isNew = known.textLength === 0 && known.thoughtCount === 0 && known.calls.size === 0;
    if (!isNew || this.state.texts.size === 0) return this.#readMessage(message).records;
    const key = toTextKey(message);
    if (key === undefined) return this.#readMessage(message).records;
    const content = readStoredParts(message.content ?? message.parts);
    known.isKept = true;
    if (this.state.texts.has(key)) return [];
    const timestampMs = this.#kit.toTimeMs(message.timestamp);
    const base = { timestampMs, uuid: this.#kit.toId(message.id), isSidechain: this.state.isSubagent };
    const type = message.type === 'user' ? 'user' : 'assistant';
    return [
      newMessage(type, { ...base, metadata: { isMeta: true }, blocks: this.#kit.toBlocks(toApiBlocks(content)) }),
    ];
  };
}

/**
 * `tokens{input, output, cached, thoughts, tool, total}`. Input includes cached tokens but not tool prompts; output
 * does not include thoughts. https://github.com/google-gemini/gemini-cli
 * packages/core/src/services/chatRecordingTypes.ts
 */
function toGeminiUsage(tokens: JsonObject, kit: ReaderKit) {
  const count = (field: string): number => kit.toCount(tokens, field, MAX_TOKENS_PER_FIELD / 2);
  const input = count('input');
  const cacheReadTokens = Math.min(count('cached'), input);
  const thinkingTokens = count('thoughts');
  return toUsageIfAny({
    inputTokens: input - cacheReadTokens + count('tool'),
    outputTokens: count('output') + thinkingTokens,
    cacheReadTokens,
    thinkingTokens,
  });
}

/**
 * Which message a line repeats. A resume writes all messages again with new times; results have the id of their call's
 * message, but another type.
 */
function toMessageKey(message: JsonObject): string {
  const type = message.type === 'model' ? 'gemini' : (readText(message.type) ?? '');
  const id = readText(message.id) ?? '';
  return id.length >= MIN_UNIQUE_ID_LENGTH ? `${type}/${id}` : `${type}/${id}@${readText(message.timestamp) ?? ''}`;
}

/** Type and hash of a message's text; undefined for one without a text. */
function toTextKey(message: JsonObject): string | undefined {
  const text = toText(readStoredParts(message.content ?? message.parts));
  if (text === '') return undefined;
  return `${message.type === 'user' ? 'user' : 'model'}/${createHash('sha256').update(text).digest('base64url')}`;
}

/** Message ids are random UUIDs, the same in every version of a session. */
function toResponseId({ id, timestamp }: JsonObject): string | null {
  const text = readText(id);
  if (text === null || text.length >= MIN_UNIQUE_ID_LENGTH) return text === null ? null : cutCharacters(text, 200);
  return `gemini/${readText(timestamp) ?? ''}/${text}`;
}

/** `[{"functionResponse":{"response":{"output":"…"}}}]` */
function toOutput(result: JsonValue | undefined): JsonValue | undefined {
  const texts = toParts(result).flatMap((part) => {
    const response = readObject(readObject(readObject(part)?.functionResponse)?.response);
    return readText(response?.output) ?? readText(response?.error) ?? readText(readObject(part)?.text) ?? [];
  });
  return texts.length > 0 ? texts.join('\n') : undefined;
}
