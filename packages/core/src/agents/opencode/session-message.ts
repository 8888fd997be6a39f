import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readObject, readObjects, readText } from '../../records/fields.ts';
import { newBlock, newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import type { Usage } from '../../records/usage.ts';
import type { ReaderContext } from '../agent.ts';
import { type ReaderKit, readType, toReportedCost, toSoldModel } from '../reader-kit.ts';
import {
  createUnreadLines,
  newUnknown,
  reportUnknownCounts,
  type UnreadLines,
  type UnreadTypes,
} from '../unread-lines.ts';
import { OPENCODE_USAGE_FIELDS, toOpencodeUsage, toResponseId } from './usage.ts';

/** Rows of `session_message` that are not read, by their `type`. */
const UNREAD_TYPES: UnreadTypes = {
  'agent-switched': { why: 'the agent is on each answer' },
  idle: { why: 'the end of a turn' },
  'location-switched': { why: 'the session’s row has its folder' },
  'model-switched': { why: 'the model is on each answer' },
};

/** Compactions whose usage is on their message, until the event with the same usage comes. */
const MAX_COMPACTIONS = 64;

export interface SessionMessageState {
  /** The usage of recent compactions whose event has not been read. */
  compactions: string[];
  /** Id and time of the last row of version 1. */
  lastCopied: { id: string; timestampMs: number } | undefined;
  /** The time of the session's creation. A fork begins with copies of earlier messages, under new ids. */
  createdMs: number | undefined;
}

export const isCopy = ({ createdMs }: SessionMessageState, timestampMs: number | undefined): boolean =>
  createdMs !== undefined && timestampMs !== undefined && timestampMs < createdMs;

interface Entry {
  id: string | null;
  timestampMs: number | undefined;
  data: JsonObject;
}

/**
 * Reads the storage of opencode since version 2, with one row for each message, whose `type` says what it is. An
 * assistant's row is one API response. Usage of requests without a message, for titles and compactions, is in events.
 * https://github.com/anomalyco/opencode packages/schema/src/session-message.ts, session-event.ts
 */
export class SessionMessageReader {
  readonly #kit: ReaderKit;
  readonly #context: ReaderContext;
  readonly #state: SessionMessageState;
  readonly #unread: UnreadLines;

  constructor(kit: ReaderKit, context: ReaderContext, state: SessionMessageState) {
    this.#kit = kit;
    this.#context = context;
    this.#state = state;
    this.#unread = createUnreadLines(UNREAD_TYPES, context);
  }

  /** `session.usage.recorded.1`: `{source: 'title' | 'compaction', cost, tokens}`. Names no model. */
  readEvent(row: JsonObject, data: JsonObject): TranscriptRecord[] {
    const timestampMs = this.#kit.toTimeMs(row.created);
    const usage = this.#toUsage(data, timestampMs);
    if (usage === undefined) return [];
    const known = data.source === 'compaction' ? this.#state.compactions.indexOf(toCounts(usage)) : -1;
    if (known !== -1) {
      this.#state.compactions = this.#state.compactions.toSpliced(known, 1);
      return [];
    }
    const responseId = `opencode-event/${this.#kit.toId(row.id) ?? timestampMs}`;
    const reportedCostUsd = toReportedCost(this.#kit.toDollars(data, 'cost'));
    return [newUsageRecord({ responseId, usage, reportedCostUsd, timestampMs, stopReason: 'stop' })];
  }

  /** A row of `session_message`; undefined if it has no message. */
  readMessage(row: JsonObject, data: JsonObject): TranscriptRecord[] | undefined {
    const type = readType(row.type) ?? readType(data.type);
    if (type === undefined) return undefined;
    const timestampMs = this.#kit.toTimeMs(readObject(data.time)?.created ?? row.time_created);
    const entry = { id: this.#kit.toId(row.id), timestampMs, data };
    switch (type) {
      case 'user':
        return this.#readUser(entry);
      case 'assistant':
        return this.#readAssistant(entry);
      case 'synthetic':
      case 'system':
      case 'skill':
        return this.#isMigrated(entry) ? [] : [this.#toGenerated(entry, type === 'system' ? 'system' : 'user')];
      case 'shell':
        return this.#readShell(entry);
      case 'compaction':
        return this.#readCompaction(entry);
      default:
        return this.#unread.read('session_message', data, type);
    }
  }

  /**
   * Version 2 makes separate rows of what it finds in a message of version 1, with its time and the first 16 characters
   * of its id. The message itself has been read.
   */
  #isMigrated({ id, timestampMs }: Entry): boolean {
    const { lastCopied: message } = this.#state;
    return message !== undefined && message.timestampMs === timestampMs && message.id.slice(0, 16) === id?.slice(0, 16);
  }

  #readUser({ id, timestampMs, data }: Entry): TranscriptRecord[] {
    const known = { timestampMs, uuid: id };
    const files = readObjects(data.files).map(toFileBlock);
    const text = readText(data.text) ?? '';
    if (text.trim() === '') {
      return files.length === 0 ? [] : [newMessage('user', { ...known, metadata: { isMeta: true }, blocks: files })];
    }
    const identity = timestampMs === undefined ? id : `prompt/user/${timestampMs}`;
    const records = this.#kit.toPromptRecords([{ type: 'text', text }], known, identity);
    for (const record of records) if (record.kind === 'message') record.blocks = [...record.blocks, ...files];
    return records;
  }

  #toGenerated({ id, timestampMs, data }: Entry, type: 'user' | 'system'): MessageRecord {
    return newMessage(type, {
      ...{ timestampMs, uuid: id, blocks: this.#kit.toBlocks([{ type: 'text', text: data.text ?? '' }]) },
      ...(type === 'user' && { metadata: { isMeta: true } }),
    });
  }

  /** A command that the user ran. It is no prompt, as no model answers. */
  #readShell({ id, timestampMs, data }: Entry): TranscriptRecord[] {
    const output = readText(data.output) ?? readText(readObject(data.output)?.output) ?? '';
    const text = `! ${readText(data.command) ?? ''}\n${output}`;
    return [this.#toGenerated({ id, timestampMs, data: { text } }, 'user')];
  }

  #readAssistant({ id, timestampMs, data }: Entry): TranscriptRecord[] {
    const { model, provider, prefix } = this.#toModel(data, timestampMs);
    const usage = this.#toUsage(data, timestampMs);
    const content = readObjects(data.content);
    const isDone = readObject(data.time)?.completed !== undefined;
    const message = newMessage('assistant', {
      ...{ timestampMs, uuid: id, model, usage },
      responseId: usage === undefined ? null : toResponseId(prefix, usage),
      stopReason: this.#kit.toId(data.finish) ?? (isDone ? 'stop' : null),
      isMarkedCopy: isCopy(this.#state, timestampMs),
      reportedCostUsd: toReportedCost(this.#kit.toDollars(data, 'cost')),
      metadata: provider === null ? {} : { provider },
      blocks: content.flatMap(this.#toBlocks),
    });
    const results = content.flatMap((element, index) => this.#toResult(element, index, timestampMs));
    const retry = readObject(data.retry);
    return [
      message,
      ...results,
      ...content.filter(({ type }) => !isContentType(type)).map((element) => toUnknownContent(element)),
      ...(retry === undefined ? [] : [this.#toEvent('api_retry', readObject(retry.error), timestampMs, id)]),
      ...this.#readError(readObject(data.error), timestampMs, id),
    ];
  }

  #toModel(data: JsonObject, timestampMs: number | undefined) {
    const source = readObject(data.model);
    const model = this.#kit.toId(source?.id) ?? this.#kit.toId(source?.modelID);
    const provider = this.#kit.toId(source?.providerID);
    // As for messages of version 1, so that both forms of one response have one key.
    const prefix = `opencode/${timestampMs ?? ''}/${provider ?? ''}/${model ?? ''}`;
    return { model: toSoldModel(model, provider), provider, prefix };
  }

  #toUsage(data: JsonObject, timestampMs: number | undefined): Usage | undefined {
    const tokens = this.#kit.toUsagePart(data, 'tokens');
    reportUnknownCounts(tokens, OPENCODE_USAGE_FIELDS, this.#context);
    return toOpencodeUsage(tokens, this.#kit, timestampMs);
  }

  #readError(error: JsonObject | undefined, timestampMs: number | undefined, id: string | null): TranscriptRecord[] {
    if (error === undefined) return [];
    const text = readText(error.message);
    const shown = text === null ? [] : [newMessage('system', { timestampMs, blocks: this.#kit.toBlocks(text) })];
    return [this.#toEvent('api_error', error, timestampMs, id), ...shown];
  }

  #toEvent(
    kind: 'api_error' | 'api_retry',
    error: JsonObject | undefined,
    timestampMs: number | undefined,
    id: string | null,
  ): TranscriptRecord {
    const identity =
      timestampMs === undefined ? id : `${kind === 'api_error' ? 'error' : 'retry'}/assistant/${timestampMs}`;
    return this.#kit.toEvent(
      { kind, name: this.#kit.toId(error?.type) ?? this.#kit.toId(error?.name), details: {} },
      identity,
      timestampMs,
    );
  }

  #toResult(element: JsonObject, index: number, messageMs: number | undefined): TranscriptRecord[] {
    const call = readObject(element.state);
    const status = readText(call?.status);
    if (element.type !== 'tool' || call === undefined || (status !== 'completed' && status !== 'error')) return [];
    const metadata = readObject(call.metadata) ?? readObject(call.structured);
    const error = readText(readObject(call.error)?.message) ?? readText(call.error);
    const content = [toResultText(call.content) ?? readText(call.output), error].filter((text) => text).join('\n');
    const exit = metadata?.exit;
    const isError = status === 'error' || element.name === 'invalid' || (typeof exit === 'number' && exit !== 0);
    const isDenied = status === 'error' && /rejected permission|permission.*(denied|rejected)/i.test(error ?? '');
    const subagentId =
      element.name === 'subagent' || element.name === 'task'
        ? this.#kit.toId(metadata?.sessionID ?? metadata?.sessionId)
        : null;
    const timestampMs = this.#kit.toTimeMs(readObject(element.time)?.completed) ?? messageMs;
    const result = { id: toCallId(element, index), content, isError, isDenied, subagentId };
    return [this.#kit.toToolResultMessage(result, { timestampMs })];
  }

  #readCompaction({ id, timestampMs, data }: Entry): TranscriptRecord[] {
    const { model, prefix } = this.#toModel(data, timestampMs);
    const usage = this.#toUsage(data, timestampMs);
    const event = { kind: 'compaction', name: data.reason === 'manual' ? 'manual' : 'auto', details: {} } as const;
    const records: TranscriptRecord[] = [
      this.#kit.toEvent(event, timestampMs === undefined ? id : `compaction/user/${timestampMs}`, timestampMs),
    ];
    const summary = readText(data.summary) ?? '';
    const blocks = summary === '' ? [] : this.#kit.toBlocks([{ type: 'text', text: summary }]);
    if (blocks.length > 0) records.push(newMessage('summary', { timestampMs, uuid: id, blocks }));
    records.push(...this.#readError(readObject(data.error), timestampMs, id));
    if (usage === undefined) return records;
    this.#state.compactions = [...this.#state.compactions, toCounts(usage)].slice(-MAX_COMPACTIONS);
    const reportedCostUsd = toReportedCost(this.#kit.toDollars(data, 'cost'));
    const responseId = toResponseId(prefix, usage);
    return [...records, newUsageRecord({ responseId, usage, reportedCostUsd, timestampMs, model, stopReason: 'stop' })];
  }

  readonly #toBlocks = (element: JsonObject, index: number): BlockContent[] => {
    if (element.type === 'text') return this.#kit.toBlocks([{ type: 'text', text: element.text ?? '' }]);
    if (element.type === 'reasoning') return this.#kit.toBlocks([{ type: 'thinking', thinking: element.text ?? '' }]);
    if (element.type !== 'tool') return [];
    const input = readObject(element.state)?.input;
    return this.#kit.toToolUseBlocks({ id: toCallId(element, index), name: element.name, input });
  };
}

const isContentType = (type: JsonValue | undefined): boolean =>
  type === 'text' || type === 'reasoning' || type === 'tool';

function toUnknownContent(element: JsonObject): TranscriptRecord {
  return newUnknown('session_message', element, `content/${readType(element.type) ?? 'unknown'}`);
}

const toCounts = ({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): string =>
  `${inputTokens}.${outputTokens}.${cacheReadTokens}.${cacheWriteTokens}`;

/** `{uri, mime, name}`, or `{data, mime, name}` with base64. */
function toFileBlock({ mime, name, uri, data }: JsonObject): BlockContent {
  const isInline = typeof data === 'string' || (typeof uri === 'string' && uri.startsWith('data:'));
  const metadata = { mime: mime ?? null, filename: name ?? null, ...(!isInline && { url: uri ?? null }) };
  return newBlock(typeof mime === 'string' && mime.startsWith('image/') ? 'image' : 'document', { metadata });
}

/** The texts of `[{type: 'text', text}, {type: 'file', uri, mime, name}]`, and the names of files. */
function toResultText(content: JsonValue | undefined): string | null {
  if (!Array.isArray(content)) return readText(content);
  const texts = readObjects(content).map(({ text, name, uri }) =>
    typeof text === 'string' ? text : `[${readText(name) ?? (String(uri).startsWith('data:') ? 'file' : uri)}]`,
  );
  return texts.length === 0 ? null : texts.join('\n');
}

/** Short call ids need not be unique within a response; the call's time and position are the same in all copies. */
function toCallId({ id, callID, time }: JsonObject, index: number): JsonValue {
  const call = readText(callID) ?? readText(id);
  if (call !== null && call.length >= 20) return call;
  const start = readObject(time)?.created;
  return `${call ?? 'call'}/${typeof start === 'number' ? start : ''}/${index}`;
}
