import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, readObject, readObjects, readText } from '../../records/fields.ts';
import { newMessage } from '../../records/new-records.ts';
import type { TranscriptRecord } from '../../records/records.ts';
import type { Reader, ReaderContext, ReaderLine, ReadLine } from '../agent.ts';
import {
  type CanonicalFile,
  type CanonicalRow,
  countUnreadableFiles,
  readCanonicalFile,
  readCanonicalRow,
  readJsonColumn,
  toUnreadRow,
} from '../canonical-lines.ts';
import { compareTotal } from '../compare-total.ts';
import { createCrushReader } from '../crush/reader.ts';
import {
  createReaderKit,
  readType,
  type ToolVocabulary,
  toReportedCost,
  toSessionRecord,
  toSoldModel,
} from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { newUnknown } from '../unread-lines.ts';
import { isStep, PartReader, type PartsState, toCopyIdentity } from './parts.ts';
import { isCopy, SessionMessageReader } from './session-message.ts';
import { type StatedTotals, toOpencodeUsage, toResponseId } from './usage.ts';

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

/** A message with its parts, as every form of the store has them. */
interface MessageSource {
  info: JsonObject;
  parts: JsonObject[];
}

/**
 * Reads sessions of opencode, and of Kilo CLI, which is built on it. They are rows of its database and files of its
 * older store, as `packages/collect` writes them, and the document that `opencode export` prints.
 */
export function createOpencodeReader(
  context: ReaderContext,
  state: PartsState = {
    message: undefined,
    compactions: [],
    lastCopied: undefined,
    createdMs: undefined,
    totals: newTotals(),
  },
): Reader {
  return new OpencodeReader(context, state);
}

class OpencodeReader extends StatefulReader<PartsState> {
  readonly #kit = createReaderKit(this.context, TOOLS);
  readonly #partReader = new PartReader(this.#kit, this.context, this.state);
  readonly #later = new SessionMessageReader(this.#kit, this.context, this.state);
  readonly #go = createCrushReader(this.context);

  finish(): void {
    const { stated, counted, statedCost, countedCost } = this.state.totals;
    compareTotal('Tokens of all steps', stated, counted, this.context);
    const toMicros = (dollars: number): number => Math.round(dollars * 1e6);
    compareTotal(
      'Cost of all messages and of their steps, in millionths of a dollar',
      toMicros(statedCost),
      toMicros(countedCost),
      this.context,
    );
  }

  read(line: JsonObject, place: ReaderLine): ReadLine {
    // Rows of the store of 2025 (Crush's).
    if (line.table === 'sessions' || line.table === 'messages') return this.#go.read(line, place);
    const { type, records } = this.#readLine(line);
    const isMessage = type === 'message' || type === 'part' || type === 'file';
    const isLater = type === 'session_message' || type === 'event';
    const timestampMs = isMessage ? this.state.message?.timestampMs : isLater ? findTimeMs(records) : undefined;
    return { type, timestampMs, records };
  }

  #readSession(info: JsonObject): TranscriptRecord[] {
    this.state.createdMs ??= this.#kit.toTimeMs(info.time_created ?? readObject(info.time)?.created);
    const session = toSessionRecord({
      sessionId: this.#kit.toId(info.id),
      cwd: this.#kit.toId(info.directory ?? readObject(info.location)?.directory),
      version: this.#kit.toId(info.version),
    });
    const title = readText(info.title);
    // The placeholder title states when the session began.
    const isPlaceholder = title === null || /^(New|Child) session - \d{4}-/.test(title);
    const titleRecord = isPlaceholder
      ? []
      : [{ kind: 'session', title: { source: 'generated', text: cutCharacters(title, 512) } } as const];
    return [session ?? [], titleRecord].flat();
  }

  #readMessage({ info, parts }: MessageSource): TranscriptRecord[] | undefined {
    const role = readText(info.role);
    if (role !== 'user' && role !== 'assistant') return undefined;
    const time = readObject(info.time);
    const timestampMs = this.#kit.toTimeMs(time?.created);
    const modelId = this.#kit.toId(info.modelID) ?? this.#kit.toId(readObject(info.model)?.modelID);
    const provider = this.#kit.toId(info.providerID) ?? this.#kit.toId(readObject(info.model)?.providerID);
    const model = toSoldModel(modelId, provider);
    const responsePrefix = `opencode/${timestampMs ?? ''}/${provider ?? ''}/${modelId ?? ''}`;
    const usage = toOpencodeUsage(this.#kit.toUsagePart(info, 'tokens'), this.#kit, timestampMs);
    const responseId = usage === undefined ? null : toResponseId(responsePrefix, usage);
    const id = this.#kit.toId(info.id);
    // Steps of a long message are on separate lines; files of the old store are read one by one.
    const hasStatedCost = typeof info.cost === 'number' && parts.some(isStep);
    this.state.message = { id, role, timestampMs, model, responseId, responsePrefix, hasStatedCost };
    if (id !== null && timestampMs !== undefined) this.state.lastCopied = { id, timestampMs };
    if (role === 'user') return this.#partReader.readUserParts(parts);
    if (hasStatedCost) this.state.totals.statedCost += Number(info.cost);
    const blocks = this.#partReader.toWrittenBlocks(parts);
    const message = newMessage('assistant', {
      timestampMs,
      uuid: id,
      parentUuid: this.#kit.toId(info.parentID),
      responseId,
      model,
      usage,
      stopReason: this.#kit.toId(info.finish) ?? (time?.completed === undefined ? null : 'stop'),
      reportedCostUsd: toReportedCost(this.#kit.toDollars(parts.findLast(isStep) ?? info, 'cost')),
      isMarkedCopy: isCopy(this.state, timestampMs),
      metadata: provider === null ? {} : { provider },
      blocks,
    });
    return [
      message,
      ...this.#readError(info.error),
      ...parts.flatMap((part, index) => this.#partReader.readAssistantPart(part, true, index)),
    ];
  }

  #readError(value: JsonValue | undefined): TranscriptRecord[] {
    const error = readObject(value);
    const { message } = this.state;
    if (error === undefined || message === undefined) return [];
    const event = { kind: 'api_error', name: this.#kit.toId(error.name), details: {} } as const;
    const text = readText(readObject(error.data)?.message);
    const { timestampMs } = message;
    const shown = text === null ? [] : [newMessage('system', { timestampMs, blocks: this.#kit.toBlocks(text) })];
    return [this.#kit.toEvent(event, toCopyIdentity(message, 'error'), timestampMs), ...shown];
  }

  /** A part on a separate line, belonging to an earlier message. */
  #readPart(part: JsonObject): TranscriptRecord[] | undefined {
    const messageId = this.#kit.toId(part.messageID);
    if (this.state.message === undefined || this.state.message.id !== messageId) return undefined;
    return this.state.message.role === 'user'
      ? this.#partReader.readUserParts([part])
      : this.#partReader.readAssistantPart(part, false);
  }

  /** The fields that opencode keeps as JSON. */
  #toData({ row }: CanonicalRow): JsonObject {
    const data = readObject(readJsonColumn(row.data));
    if (data === undefined) this.context.report('invalid_json', 'error', 'A row of the session is not a JSON object');
    return data ?? {};
  }

  #readRow(row: CanonicalRow): TranscriptRecord[] | undefined {
    switch (row.table) {
      case 'session':
      case 'session_v2':
        return this.#readSession(row.row);
      case 'message':
        return this.#readMessage({ info: this.#toInfo(row), parts: row.children.map(this.#toInfo) });
      case 'part':
        return this.#readPart(this.#toInfo(row));
      case 'session_message':
        return this.#later.readMessage(row.row, this.#toData(row));
      case 'event':
        return this.#later.readEvent(row.row, this.#toData(row));
      default:
        return undefined;
    }
  }

  #readFile({ file, value, children }: CanonicalFile): TranscriptRecord[] | undefined {
    if (/(^|\/)session\//.test(file)) return this.#readSession(value);
    if (/(^|\/)message\//.test(file)) {
      const parts = [...readObjects(value.parts), ...children.map((part) => part.value)];
      return this.#readMessage({ info: value, parts });
    }
    return /(^|\/)part\//.test(file) ? this.#readPart(value) : undefined;
  }

  #readLine(line: JsonObject): { type: string | undefined; records: TranscriptRecord[] } {
    const readAs = (type: string | undefined, value: JsonObject, records: TranscriptRecord[] | undefined) => ({
      type,
      records: records ?? [newUnknown(type ?? 'unknown', value)],
    });
    if (line.recount === 'session') return { type: 'header', records: [] };
    const lost = countUnreadableFiles(line);
    for (let index = 0; index < lost; index++) {
      this.context.report('invalid_json', 'error', 'A file of the session is not a JSON object');
    }
    const row = readCanonicalRow(line);
    if (row !== undefined) return readAs(row.table, toUnreadRow(row), this.#readRow(row));
    const file = readCanonicalFile(line);
    if (file !== undefined) return readAs('file', line, this.#readFile(file));
    if (lost > 0) return { type: 'file', records: [] };
    const info = readObject(line.info);
    if (info !== undefined) return { type: 'session', records: this.#readSession(info) };
    const message = readObject(line.messages);
    // An export of version 2 has messages as its rows have them.
    if (message !== undefined && message.info === undefined && typeof message.type === 'string') {
      return readAs('session_message', message, this.#later.readMessage(message, message));
    }
    if (message === undefined) return readAs(readType(Object.keys(line)[0]), line, undefined);
    const parts = readObjects(message.parts);
    return readAs('message', message, this.#readMessage({ info: readObject(message.info) ?? {}, parts }));
  }

  /** The same with the ids of the row's columns. */
  readonly #toInfo = (row: CanonicalRow): JsonObject => ({
    ...this.#toData(row),
    ...{ id: row.row.id ?? null, messageID: row.row.message_id ?? null },
  });
}

function findTimeMs(records: readonly TranscriptRecord[]): number | undefined {
  for (const record of records) if ('timestampMs' in record) return record.timestampMs;
  return undefined;
}

const newTotals = (): StatedTotals => ({ stated: 0, counted: 0, statedCost: 0, countedCost: 0 });
