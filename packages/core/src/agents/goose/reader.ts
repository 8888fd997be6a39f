import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, isJsonObject, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, TranscriptRecord } from '../../records/records.ts';
import { toUtc } from '../../records/timestamps.ts';
import { MAX_TOKENS_PER_SESSION } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReadLine } from '../agent.ts';
import { type CanonicalRow, readCanonicalRow, readJsonColumn, toUnreadRow } from '../canonical-lines.ts';
import { compareTotal } from '../compare-total.ts';
import {
  createReaderKit,
  readType,
  type ToolVocabulary,
  toCutTitle,
  toReportedCost,
  toSessionRecord,
  toUsageIfAny,
} from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { newUnknown, reportUnreadContent } from '../unread-lines.ts';

const TOOLS: ToolVocabulary = {
  read: ['read', 'developer__read', 'read_file'],
  edit: ['edit', 'write', 'text_editor', 'developer__text_editor', 'developer__edit', 'developer__write'],
  shell: ['shell', 'developer__shell'],
  search: ['tree', 'developer__tree', 'analyze', 'developer__analyze', 'chatrecall__chatrecall'],
  web: ['computercontroller__web_scrape', 'web_search', 'fetch'],
  agent: ['delegate', 'subagent', 'dynamic_task__create_task', 'subagent__execute_task'],
  skill: ['load_skill', 'skills__loadskill', 'load'],
  plan: ['todo__todo_write', 'todo_write', 'todo__todo_read'],
};

/** Goose's built-in extensions. Their tools count as its own. */
const OWN_EXTENSIONS = new Set(['developer', 'todo', 'skills', 'chatrecall', 'dynamic_task', 'subagent', 'platform']);

interface GooseReaderState {
  /** The session's model, for rows without one. */
  model: string | null;
  /** The last response key, and how often it occurred. Rows within one second may be equal. */
  lastKey: string;
  repeats: number;
  /** `total_tokens` of the ledger's rows, and what is counted of the same rows. */
  statedTokens: number;
  countedTokens: number;
}

/** Blocks of messages that are not read, with the reason. */
const UNREAD_BLOCKS: Readonly<Record<string, string>> = {
  conversationCompacted: 'a mark of old versions; the ledger has the compaction',
  toolConfirmation: 'repeats the call that it asks about',
  toolConfirmationRequest: 'repeats the call that it asks about',
  toolConfirmationResponse: 'whether the call was allowed, which its result shows',
};
const isUnread = (type: JsonValue | undefined): boolean =>
  typeof type === 'string' && Object.hasOwn(UNREAD_BLOCKS, type);

/** Blocks that stay, whatever they hold. */
const READ_BLOCKS = new Set<unknown>([
  ...['text', 'image', 'document', 'thinking', 'reasoning', 'redactedThinking', 'toolRequest', 'frontendToolRequest'],
  ...['toolResponse', 'systemNotification', 'error', 'elicitation', 'elicitationResponse'],
]);

/**
 * Reads sessions of Goose's store, as `packages/collect` writes them, and the JSONL files of older versions, which have
 * the session's row and its messages. https://github.com/block/goose crates/goose/src/session/legacy.rs
 */
export function createGooseReader(
  context: ReaderContext,
  state: GooseReaderState = { model: null, lastKey: '', repeats: 0, statedTokens: 0, countedTokens: 0 },
): Reader {
  return new GooseReader(context, state);
}

class GooseReader extends StatefulReader<GooseReaderState> {
  readonly #kit = createReaderKit(this.context, TOOLS);

  finish(): void {
    compareTotal('Tokens of the ledger', this.state.statedTokens, this.state.countedTokens, this.context);
  }

  read(line: JsonObject): ReadLine {
    if (line.recount === 'session') return { type: 'header', timestampMs: undefined, records: [] };
    if (isGooseMessage(line) || 'message_count' in line) return this.#readOldLine(line);
    const row = readCanonicalRow(line);
    const role = readType(line.role);
    const type = row?.table ?? (role === undefined ? 'unknown' : `role/${role}`);
    const timestampMs = row === undefined ? undefined : this.#toTimeOf(row.row);
    const records = row && this.#readRow(row, timestampMs);
    const value = row === undefined ? line : toUnreadRow(row);
    return { type, timestampMs, records: records ?? [newUnknown(type, value)] };
  }

  #readSession(row: JsonObject): TranscriptRecord[] {
    const config = readObject(readJsonColumn(row.model_config_json));
    this.state.model = this.#kit.toId(config?.model_name) ?? this.state.model;
    const session = toSessionRecord({ sessionId: this.#kit.toId(row.id), cwd: this.#kit.toId(row.working_dir) });
    const isCustom = row.user_set_name === 1;
    const text = readText(row.name) ?? readText(row.description);
    const title = text === null ? [] : [toCutTitle(isCustom ? 'custom' : 'generated', text)];
    return [session ?? [], title, this.#readAccumulated(row)].flat();
  }

  /** Versions without a ledger have only the session's totals. If there is a ledger, the totals are ignored. */
  #readAccumulated(row: JsonObject): TranscriptRecord[] {
    const usage = this.#toGooseUsage('accumulated_', row);
    if (usage === undefined) return [];
    const reportedCostUsd = toReportedCost(this.#kit.toDollars(row, 'accumulated_cost'));
    const timestampMs = this.#kit.toTimeMs(toUtc(row.updated_at));
    const responseId = `goose/session-total/${readText(row.id) ?? ''}`;
    return [
      newUsageRecord({ responseId, usage, reportedCostUsd, timestampMs, model: this.state.model, stopReason: 'stop' }),
    ];
  }

  /** Input includes cache reads and writes. */
  #toGooseUsage(prefix: string, row: JsonObject) {
    const max = prefix === '' ? undefined : MAX_TOKENS_PER_SESSION;
    const count = (name: string): number => this.#kit.toCount(row, `${prefix}${name}`, max);
    const cacheReadTokens = count('cache_read_tokens');
    const cacheWriteTokens = count('cache_write_tokens');
    const inputTokens = Math.max(0, count('input_tokens') - cacheReadTokens - cacheWriteTokens);
    return toUsageIfAny({ inputTokens, outputTokens: count('output_tokens'), cacheReadTokens, cacheWriteTokens });
  }

  #readLedger(row: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const usage = this.#toGooseUsage('', row);
    const model = this.#kit.toId(row.model) ?? this.state.model;
    const isCompaction = row.is_compaction === 1;
    const event = { kind: 'compaction', name: null, details: {} } as const;
    const events = isCompaction ? [this.#kit.toEvent(event, `goose/${timestampMs}`, timestampMs)] : [];
    if (usage === undefined) return events;
    const { total_tokens: total, input_tokens: input, output_tokens: output } = row;
    // A row that lacks a class does not say what its total is made of.
    if (typeof total === 'number' && typeof input === 'number' && typeof output === 'number') {
      this.state.statedTokens += total;
      this.state.countedTokens +=
        usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
    }
    const counts = [usage.inputTokens, usage.outputTokens, usage.cacheReadTokens, usage.cacheWriteTokens].join('.');
    const key = cutCharacters(`goose/${timestampMs ?? ''}/${model ?? ''}/${counts}`, 400);
    this.state.repeats = key === this.state.lastKey ? this.state.repeats + 1 : 0;
    this.state.lastKey = key;
    const responseId = this.state.repeats === 0 ? key : `${key}/${this.state.repeats}`;
    const reportedCostUsd = toReportedCost(this.#kit.toDollars(row, 'cost'));
    return [...events, newUsageRecord({ responseId, usage, reportedCostUsd, timestampMs, model, stopReason: 'stop' })];
  }

  #readMessage(row: JsonObject, timestampMs: number | undefined): TranscriptRecord[] | undefined {
    const { role } = row;
    if (role !== 'user' && role !== 'assistant') return undefined;
    const content = readJsonColumn(row.content_json);
    if (!Array.isArray(content)) return undefined;
    const elements = content.filter(isJsonObject).map(withActionType);
    const others = elements.filter(({ type }) => type !== 'toolResponse' && !isUnread(type));
    for (const element of others) this.#reportUnknown(element);
    const errors = elements
      .filter(({ type }) => type === 'error')
      .map(({ kind }) => this.#toErrorEvent(kind, timestampMs));
    const metadata = readObject(readJsonColumn(row.metadata_json));
    const entry = { timestampMs, uuid: this.#kit.toId(row.message_id) ?? this.#kit.toId(row.id) };
    const results = elements.filter(({ type }) => type === 'toolResponse');
    const answers = [...results.map((element) => this.#kit.toToolResultMessage(toResult(element), entry)), ...errors];
    if (others.length === 0) return answers;
    if (role === 'assistant') {
      const blocks = others.flatMap(this.#toBlocks);
      return [...answers, newMessage('assistant', { ...entry, model: this.state.model, stopReason: 'stop', blocks })];
    }
    if (metadata?.userVisible === false) {
      return [
        ...answers,
        newMessage('user', { ...entry, metadata: { isMeta: true }, blocks: others.flatMap(this.#toBlocks) }),
      ];
    }
    const identity = `goose/prompt/${timestampMs}/${entry.uuid ?? ''}`;
    return [...answers, ...this.#kit.toPromptRecords(others.map(toApiElement), entry, identity)];
  }

  /** Blocks of unknown types stay, and are named. */
  #reportUnknown(element: JsonObject): void {
    const { type } = element;
    if (!READ_BLOCKS.has(type) && !isUnread(type)) {
      reportUnreadContent(`block/${readType(type) ?? 'unknown'}`, element, this.context);
    }
  }

  #toErrorEvent(kind: JsonValue | undefined, timestampMs: number | undefined): TranscriptRecord {
    return this.#kit.toEvent(
      { kind: 'api_error', name: this.#kit.toId(kind), details: {} },
      `goose/error/${timestampMs}`,
      timestampMs,
    );
  }

  #toTimeOf(row: JsonObject): number | undefined {
    const time = row.created_timestamp;
    return this.#kit.toTimeMs(typeof time === 'number' && time < 1e11 ? time * 1000 : time);
  }

  #readRow({ table, row }: CanonicalRow, timestampMs: number | undefined): TranscriptRecord[] | undefined {
    if (table === 'sessions') return this.#readSession(row);
    if (table === 'messages') return this.#readMessage(row, timestampMs);
    return table === 'usage_ledger' ? this.#readLedger(row, timestampMs) : undefined;
  }

  #readOldLine(line: JsonObject): ReadLine {
    if (!isGooseMessage(line)) {
      const records = this.#readSession({ ...line, id: this.context.sessionId ?? null });
      return { type: 'sessions', timestampMs: undefined, records };
    }
    const timestampMs = this.#toTimeOf({ created_timestamp: line.created ?? null });
    const records = this.#readMessage(
      { role: line.role ?? null, content_json: line.content ?? null, message_id: null },
      timestampMs,
    );
    return { type: 'messages', timestampMs, records: records ?? [] };
  }

  readonly #toBlocks = (element: JsonObject): BlockContent[] => {
    if (element.type !== 'toolRequest' && element.type !== 'frontendToolRequest') {
      return this.#kit.toBlocks([toApiElement(element)]);
    }
    const call = readObject(readObject(element.toolCall)?.value);
    const name = readText(call?.name);
    const extension = /^(.+?)__/.exec(name ?? '')?.[1];
    const mcpServer = extension === undefined || OWN_EXTENSIONS.has(extension) ? null : extension;
    return this.#kit.toToolUseBlocks({ id: element.id, name, input: call?.arguments, mcpServer });
  };
}

/** True if this is a line of an old JSONL file: `{"role":"user","created":1747036800,"content":[…]}`. */
export function isGooseMessage({ role, created, content }: JsonObject): boolean {
  return (role === 'user' || role === 'assistant') && typeof created === 'number' && Array.isArray(content);
}

function toResult(element: JsonObject): { id: JsonValue | undefined; content: JsonValue; isError: boolean } {
  const result = readObject(element.toolResult);
  const value = result?.value;
  const content = Array.isArray(value) ? value : (readObject(value)?.content ?? null);
  const isError = result?.status === 'error' || readObject(value)?.isError === true;
  return { id: element.id, content: result?.status === 'error' ? (result.error ?? null) : content, isError };
}

/** Goose's blocks in the shape of the Anthropic API. */
function toApiElement(element: JsonObject): JsonValue {
  const { type } = element;
  if (type === 'text') return { type, text: element.text ?? '' };
  if (type === 'thinking') return { type, thinking: element.thinking ?? '', signature: element.signature ?? null };
  if (type === 'reasoning') return { type: 'thinking', thinking: element.text ?? '' };
  if (type === 'systemNotification') return { type: 'text', text: element.msg ?? '' };
  if (type === 'error' || type === 'elicitation') return { type: 'text', text: element.message ?? '' };
  if (type === 'elicitationResponse')
    return { type: 'text', text: JSON.stringify(element.user_data ?? element.userData ?? null) };
  if (type === 'document') return toDocument(element);
  if (type === 'redactedThinking') return { type: 'redacted_thinking', data: element.data ?? null };
  if (type !== 'image') return element;
  return { type, source: { type: 'base64', media_type: element.mimeType ?? null, data: element.data ?? null } };
}

function toDocument({ name, mimeType, data }: JsonObject): JsonValue {
  return {
    type: 'document',
    title: name ?? null,
    source: { type: 'base64', media_type: mimeType ?? null, data: data ?? null },
  };
}

/** `{"type":"actionRequired","data":{"actionType":"elicitation","message":"…"}}` */
function withActionType(element: JsonObject): JsonObject {
  const data = element.type === 'actionRequired' ? readObject(element.data) : undefined;
  return data === undefined ? element : { ...data, type: data.actionType ?? 'actionRequired' };
}
