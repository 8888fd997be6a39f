import { cutCharacters, isJsonObject, readObject, readText } from '../../records/fields.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import {
  type CanonicalFile,
  type CanonicalRow,
  readCanonicalFile,
  readCanonicalRow,
  readJsonColumn,
  toUnreadRow,
} from '../canonical-lines.ts';
import { createCrushReader } from '../crush/reader.ts';
import { newBlock, newMessage, newUsageRecord } from '../new-records.ts';
import { createReaderKit, readType, type ToolVocabulary, toReportedCost, toSessionRecord } from '../reader-kit.ts';
import type { BlockContent, TranscriptRecord } from '../records.ts';
import { createUnreadLines, newUnknown, type UnreadTypes } from '../unread-lines.ts';
import { createSessionMessageReader, isCopy, type SessionMessageState } from './session-message.ts';
import { toOpencodeUsage, toResponseId } from './usage.ts';

const TOOLS: ToolVocabulary = {
  read: ['read', 'list'],
  edit: ['edit', 'write', 'patch', 'multiedit', 'apply_patch'],
  shell: ['bash', 'shell'],
  search: ['grep', 'glob', 'codesearch', 'lsp', 'lsp_hover', 'lsp_diagnostics'],
  web: ['webfetch', 'websearch'],
  agent: ['task', 'subagent'],
  skill: ['skill'],
  plan: ['todowrite', 'todoread', 'plan_enter', 'plan_exit'],
  question: ['question'],
};

const READ_PARTS = new Set<unknown>([
  ...['text', 'reasoning', 'tool', 'file', 'step-finish', 'subtask', 'retry', 'compaction'],
]);
const UNREAD_PARTS: UnreadTypes = {
  'part/agent': { why: 'the name of an agent, which the prompt has as well', mayHold: ['source.value'] },
  'part/patch': { why: 'files that were changed, which tool calls show' },
  'part/snapshot': { why: 'a version of the working tree' },
  'part/step-start': { why: 'the beginning of a step' },
};

/** A message whose parts are being read, perhaps from lines of their own. */
interface OpenMessage {
  id: string | null;
  role: 'user' | 'assistant';
  timestampMs: number | undefined;
  model: string | null;
  /** Response id of the last step of an assistant message. */
  responseId: string | null;
  /** Prefix of the keys of its responses. */
  responsePrefix: string;
}

export interface OpencodeReaderState extends SessionMessageState {
  /** The most recent message. */
  message: OpenMessage | undefined;
}

/** A message with its parts, as every form of the store has them. */
interface MessageSource {
  info: JsonObject;
  parts: JsonObject[];
}

/**
 * Reads sessions of opencode, and of Kilo CLI, which is built on it: rows of its database and files of its older store,
 * as `packages/collect` writes them, and the document that `opencode export` prints.
 */
export function createOpencodeReader(
  context: ReaderContext,
  state: OpencodeReaderState = { message: undefined, compactions: [], lastCopied: undefined, createdMs: undefined },
): Reader {
  const kit = createReaderKit(context, TOOLS);
  const unread = createUnreadLines(UNREAD_PARTS, context);
  const later = createSessionMessageReader(kit, context, state);
  const go = createCrushReader(context);

  const readSession = (info: JsonObject): TranscriptRecord[] => {
    state.createdMs ??= kit.toTimeMs(info.time_created ?? readObject(info.time)?.created);
    const session = toSessionRecord({
      sessionId: kit.toId(info.id),
      cwd: kit.toId(info.directory),
      version: kit.toId(info.version),
    });
    const title = readText(info.title);
    // The placeholder title states when the session began.
    const isPlaceholder = title === null || /^(New|Child) session - \d{4}-/.test(title);
    const titleRecord = isPlaceholder
      ? []
      : [{ kind: 'session', title: { source: 'generated', text: cutCharacters(title, 512) } } as const];
    return [session ?? [], titleRecord].flat();
  };

  const readMessage = ({ info, parts }: MessageSource): TranscriptRecord[] | undefined => {
    const role = readText(info.role);
    if (role !== 'user' && role !== 'assistant') return undefined;
    const time = readObject(info.time);
    const timestampMs = kit.toTimeMs(time?.created);
    const model = kit.toId(info.modelID) ?? kit.toId(readObject(info.model)?.modelID);
    const provider = kit.toId(info.providerID) ?? kit.toId(readObject(info.model)?.providerID);
    const responsePrefix = `opencode/${timestampMs ?? ''}/${provider ?? ''}/${model ?? ''}`;
    const usage = toOpencodeUsage(readObject(info.tokens), kit);
    const responseId = usage === undefined ? null : toResponseId(responsePrefix, usage);
    const id = kit.toId(info.id);
    state.message = { id, role, timestampMs, model, responseId, responsePrefix };
    if (id !== null && timestampMs !== undefined) state.lastCopied = { id, timestampMs };
    if (role === 'user') return readUserParts(parts);
    const blocks = toWrittenBlocks(parts);
    const message = newMessage('assistant', {
      timestampMs,
      uuid: id,
      parentUuid: kit.toId(info.parentID),
      responseId,
      model,
      usage,
      stopReason: kit.toId(info.finish) ?? (time?.completed === undefined ? null : 'stop'),
      reportedCostUsd: toReportedCost(kit.toDollars(parts.findLast(isStep) ?? info, 'cost')),
      isMarkedCopy: isCopy(state, timestampMs),
      metadata: provider === null ? {} : { provider },
      blocks,
    });
    return [message, ...readError(info.error), ...parts.flatMap((part, index) => readAssistantPart(part, true, index))];
  };

  const readError = (value: JsonValue | undefined): TranscriptRecord[] => {
    const error = readObject(value);
    const { message } = state;
    if (error === undefined || message === undefined) return [];
    const event = { kind: 'api_error', name: kit.toId(error.name), details: {} } as const;
    const text = readText(readObject(error.data)?.message);
    const { timestampMs } = message;
    const shown = text === null ? [] : [newMessage('system', { timestampMs, blocks: kit.toBlocks(text) })];
    return [kit.toEvent(event, toCopyIdentity(message, 'error'), timestampMs), ...shown];
  };

  /** All parts of a user message form one message. Parts that opencode generated are not what the user typed. */
  const readUserParts = (parts: readonly JsonObject[]): TranscriptRecord[] => {
    const { message } = state;
    if (message === undefined || parts.length === 0) return [];
    const entry = { timestampMs: message.timestampMs, uuid: message.id };
    const unknown = parts.flatMap(readOtherPart);
    const isTyped = (part: JsonObject): boolean => part.type === 'text' && part.synthetic !== true;
    const compactions = parts.filter(({ type }) => type === 'compaction').map((part) => toCompaction(part, message));
    const events = [...unknown, ...compactions];
    const typed = parts.filter(isTyped).map(({ text }) => ({ type: 'text', text: text ?? '' }));
    const others = parts.filter((part) => !isTyped(part)).flatMap(toUserBlocks);
    if (typed.length === 0) {
      return others.length === 0
        ? events
        : [...events, newMessage('user', { ...entry, metadata: { isMeta: true }, blocks: others })];
    }
    const records = kit.toPromptRecords(typed, entry, toCopyIdentity(message, 'prompt'));
    for (const record of records) if (record.kind === 'message') record.blocks = [...record.blocks, ...others];
    return [...events, ...records];
  };

  const readOtherPart = (part: JsonObject): TranscriptRecord[] =>
    READ_PARTS.has(part.type) ? [] : unread.read('part', part, `part/${readType(part.type) ?? 'unknown'}`);

  const toUserBlocks = (part: JsonObject): BlockContent[] => {
    if (part.type === 'text') return kit.toBlocks([{ type: 'text', text: part.text ?? '' }]);
    if (part.type === 'subtask') return kit.toBlocks([{ type: 'text', text: part.prompt ?? '' }]);
    if (part.type !== 'file') return [];
    const { mime, filename, url } = part;
    const isInline = typeof url === 'string' && url.startsWith('data:');
    const metadata = { mime: mime ?? null, filename: filename ?? null, ...(!isInline && { url: url ?? null }) };
    return [newBlock(typeof mime === 'string' && mime.startsWith('image/') ? 'image' : 'document', { metadata })];
  };

  const toCompaction = (part: JsonObject, message: OpenMessage): TranscriptRecord => {
    const event = { kind: 'compaction', name: part.auto === false ? 'manual' : 'auto', details: {} } as const;
    return kit.toEvent(event, toCopyIdentity(message, 'compaction'), message.timestampMs);
  };

  const toWrittenBlocks = (parts: readonly JsonObject[]): BlockContent[] =>
    parts.flatMap((part, index): BlockContent[] => {
      if (part.type === 'text') return kit.toBlocks([{ type: 'text', text: part.text ?? '' }]);
      if (part.type === 'reasoning') return kit.toBlocks([{ type: 'thinking', thinking: part.text ?? '' }]);
      if (part.type === 'file') return toUserBlocks(part);
      if (part.type !== 'tool') return [];
      const input = readObject(part.state)?.input;
      return kit.toToolUseBlocks({ id: toCallId(part, index), name: part.tool, input });
    });

  /** What a part of an assistant message adds to the blocks that the model wrote. */
  const readAssistantPart = (part: JsonObject, isWithMessage: boolean, index = 0): TranscriptRecord[] => {
    const { message } = state;
    if (message === undefined) return [];
    const records: TranscriptRecord[] = [];
    if (!isWithMessage) {
      const blocks = toWrittenBlocks([part]);
      const { responseId, model, timestampMs, id: uuid } = message;
      if (blocks.length > 0) records.push(newMessage('assistant', { responseId, model, timestampMs, uuid, blocks }));
    }
    records.push(...readOtherPart(part));
    if (part.type === 'tool') records.push(...toToolResult(part, message, index));
    if (isStep(part)) records.push(...toStep(part, message));
    if (part.type === 'retry') {
      const event = { kind: 'api_retry', name: kit.toId(readObject(part.error)?.name), details: {} } as const;
      records.push(kit.toEvent(event, toCopyIdentity(message, 'retry'), message.timestampMs));
    }
    return records;
  };

  const toToolResult = (part: JsonObject, message: OpenMessage, index: number): TranscriptRecord[] => {
    const call = readObject(part.state);
    const status = readText(call?.status);
    if (call === undefined || (status !== 'completed' && status !== 'error')) return [];
    const metadata = readObject(call.metadata);
    const exit = metadata?.exit;
    // opencode marks a malformed call, or one of an unknown tool, as completed, with an explanation.
    const isError = status === 'error' || part.tool === 'invalid' || (typeof exit === 'number' && exit !== 0);
    const content = status === 'error' ? call.error : call.output;
    const isDenied = status === 'error' && /rejected permission|permission.*(denied|rejected)/i.test(String(content));
    const subagentId = part.tool === 'task' ? kit.toId(metadata?.sessionId ?? metadata?.sessionID) : null;
    const timestampMs = kit.toTimeMs(readObject(call.time)?.end) ?? message.timestampMs;
    const result = { id: toCallId(part, index), content, isError, isDenied, subagentId };
    return [kit.toToolResultMessage(result, { timestampMs })];
  };

  /** A step is an API response. The last step of a message has the message's usage. */
  const toStep = (part: JsonObject, message: OpenMessage): TranscriptRecord[] => {
    const usage = toOpencodeUsage(readObject(part.tokens), kit);
    if (usage === undefined) return [];
    const responseId = toResponseId(message.responsePrefix, usage);
    const reportedCostUsd = toReportedCost(kit.toDollars(part, 'cost'));
    const { timestampMs, model } = message;
    const stopReason = kit.toId(part.reason);
    const isMarkedCopy = isCopy(state, timestampMs);
    return [newUsageRecord({ responseId, usage, reportedCostUsd, timestampMs, model, stopReason, isMarkedCopy })];
  };

  /** A part on a line of its own, belonging to an earlier message. */
  const readPart = (part: JsonObject): TranscriptRecord[] | undefined => {
    const messageId = kit.toId(part.messageID);
    if (state.message === undefined || state.message.id !== messageId) return undefined;
    return state.message.role === 'user' ? readUserParts([part]) : readAssistantPart(part, false);
  };

  const readRow = (row: CanonicalRow): TranscriptRecord[] | undefined => {
    switch (row.table) {
      case 'session':
      case 'session_v2':
        return readSession(row.row);
      case 'message':
        return readMessage({ info: toInfo(row), parts: row.children.map(toInfo) });
      case 'part':
        return readPart(toInfo(row));
      case 'session_message':
        return later.readMessage(row.row, readObject(readJsonColumn(row.row.data)) ?? {});
      case 'event':
        return later.readEvent(row.row, readObject(readJsonColumn(row.row.data)) ?? {});
      default:
        return undefined;
    }
  };

  const readFile = ({ file, value, children }: CanonicalFile): TranscriptRecord[] | undefined => {
    if (/(^|\/)session\//.test(file)) return readSession(value);
    if (/(^|\/)message\//.test(file)) {
      const parts = [...toObjects(value.parts), ...children.map((part) => part.value)];
      return readMessage({ info: value, parts });
    }
    return /(^|\/)part\//.test(file) ? readPart(value) : undefined;
  };

  const readLine = (line: JsonObject): { type: string | undefined; records: TranscriptRecord[] } => {
    const readAs = (type: string | undefined, value: JsonObject, records: TranscriptRecord[] | undefined) => ({
      type,
      records: records ?? [newUnknown(type ?? 'unknown', value)],
    });
    if (line.recount === 'session') return { type: 'header', records: [] };
    const row = readCanonicalRow(line);
    if (row !== undefined) return readAs(row.table, toUnreadRow(row), readRow(row));
    const file = readCanonicalFile(line);
    if (file !== undefined) return readAs('file', line, readFile(file));
    const info = readObject(line.info);
    if (info !== undefined) return { type: 'session', records: readSession(info) };
    const message = readObject(line.messages);
    if (message === undefined) return readAs(readType(Object.keys(line)[0]), line, undefined);
    const parts = toObjects(message.parts);
    return readAs('message', message, readMessage({ info: readObject(message.info) ?? {}, parts }));
  };

  return {
    state,
    read(line, place) {
      // Rows of the store of 2025, which are Crush's.
      if (line.table === 'sessions' || line.table === 'messages') return go.read(line, place);
      const { type, records } = readLine(line);
      const isMessage = type === 'message' || type === 'part' || type === 'file';
      const isLater = type === 'session_message' || type === 'event';
      const timestampMs = isMessage ? state.message?.timestampMs : isLater ? findTimeMs(records) : undefined;
      return { type, timestampMs, records };
    },
  };
}

function findTimeMs(records: readonly TranscriptRecord[]): number | undefined {
  for (const record of records) if ('timestampMs' in record) return record.timestampMs;
  return undefined;
}

/** The fields of a row: those that opencode keeps as JSON in `data`, and the ids of its columns. */
function toInfo({ row }: CanonicalRow): JsonObject {
  const data = readObject(readJsonColumn(row.data)) ?? {};
  const ids = { id: row.id ?? null, messageID: row.message_id ?? null };
  return { ...data, ...ids };
}

function toObjects(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** A message's cost is the sum of its steps; its usage is the last step's. */
function isStep({ type }: JsonObject): boolean {
  return type === 'step-finish';
}

function toCopyIdentity({ role, timestampMs, id }: OpenMessage, kind: string): string | null {
  return timestampMs === undefined ? id : `${kind}/${role}/${timestampMs}`;
}

/**
 * Short call ids need not be unique within a response; the call's start time and position are the same in all copies.
 */
function toCallId(part: JsonObject, index: number): JsonValue {
  const id = readText(part.callID);
  if (id !== null && id.length >= 20) return id;
  const start = readObject(readObject(part.state)?.time)?.start;
  return `${id ?? 'call'}/${typeof start === 'number' ? start : ''}/${index}`;
}
