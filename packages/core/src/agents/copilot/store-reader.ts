import type { JsonObject } from '../../lines/json.ts';
import { cutCharacters, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { TranscriptRecord } from '../../records/records.ts';
import { toUtc } from '../../records/timestamps.ts';
import type { Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReaderLine, ReadLine } from '../agent.ts';
import { type CanonicalRow, readCanonicalRow } from '../canonical-lines.ts';
import { createReaderKit, toSessionRecord, toUsageIfAny } from '../reader-kit.ts';
import { newUnknown } from '../unread-lines.ts';
import { createCopilotReader } from './reader.ts';
import { COPILOT_TOOLS } from './tools.ts';

interface CopilotStoreState {
  sessionId: string | null;
  /**
   * The time of the store's first usage row. From then on it has every request, and the events' own counts are ignored.
   */
  storeSinceMs: number | undefined;
  /** State of the reader of events. */
  events: unknown;
  /** Usage of the latest rows, and of the latest usage records of events, whose twin has not come yet. */
  open: { rows: string[]; records: string[] };
  /** The latest responses that count by their record. No row had the same usage before. */
  recorded: string[];
}

/** Rows and records that wait for their twin. */
const MAX_OPEN = 256;
/** Events that state the whole usage of a request, as a row does. */
const RECORDS = new Set(['session.usage_record', 'assistant.usage']);

function createState(): CopilotStoreState {
  const open = { rows: [], records: [] };
  return { sessionId: null, storeSinceMs: undefined, events: undefined, open, recorded: [] };
}

/**
 * Reads sessions of Copilot CLI as `packages/collect` writes them, which are lines of `events.jsonl` merged with rows
 * of `session-store.db`, which has the tokens of each request by class; or only the rows, if the events are gone. From
 * 1.0.102 on, events have them as well, and the database lacks the last rows of a program that ended abruptly. A row
 * and a record with the same counts, which name each other in no other way, are one response.
 */
export function createCopilotStoreReader(context: ReaderContext, state = createState()): Reader {
  return new CopilotStoreReader(context, state);
}

class CopilotStoreReader implements Reader {
  readonly state: CopilotStoreState;
  readonly #kit: ReturnType<typeof createReaderKit>;
  readonly #eventReader: Reader;

  constructor(context: ReaderContext, state: CopilotStoreState) {
    this.state = state;
    this.#kit = createReaderKit(context, COPILOT_TOOLS);
    this.#eventReader = createCopilotReader(context, ...(state.events === undefined ? [] : [state.events as never]));
    state.events = this.#eventReader.state;
  }

  read(line: JsonObject, place: ReaderLine): ReadLine {
    if (line.recount === 'session') {
      this.state.sessionId = this.#kit.toId(line.session);
      this.state.storeSinceMs = this.#kit.toTimeMs(toUtc(line.rowsSince));
      return { type: 'header', timestampMs: undefined, records: [] };
    }
    const row = readCanonicalRow(line);
    if (row !== undefined) {
      const timestampMs = this.#kit.toTimeMs(toUtc(row.row.created_at ?? row.row.timestamp));
      return {
        type: row.table,
        timestampMs,
        records: this.#readRow(row, timestampMs) ?? [newUnknown(row.table, row.row)],
      };
    }
    const event = this.#eventReader.read(line, place);
    const isCounted = this.state.storeSinceMs !== undefined && (event.timestampMs ?? 0) >= this.state.storeSinceMs;
    return { ...event, records: this.#toUncounted(event.records, event.type ?? '', isCounted) };
  }

  #readSession(row: JsonObject): TranscriptRecord[] {
    const sessionId = this.#kit.toId(row.id);
    const session = toSessionRecord({ sessionId, cwd: this.#kit.toId(row.cwd), gitBranch: this.#kit.toId(row.branch) });
    const summary = readText(row.summary);
    const title = summary === null ? [] : [{ source: 'generated', text: cutCharacters(summary, 512) } as const];
    return [session ?? [], title.map((text) => ({ kind: 'session', title: text }) as const)].flat();
  }

  /** `input_tokens` includes cache reads and writes, `output_tokens` includes reasoning. */
  #readUsage({ rowid, row }: CanonicalRow, timestampMs: number | undefined): TranscriptRecord[] {
    const count = (name: string): number => this.#kit.toCount(row, `${name}_tokens`);
    const cacheReadTokens = count('cache_read');
    const cacheWriteTokens = count('cache_write');
    const usage = toUsageIfAny({
      inputTokens: Math.max(0, count('input') - cacheReadTokens - cacheWriteTokens),
      outputTokens: count('output'),
      cacheReadTokens,
      cacheWriteTokens,
      thinkingTokens: count('reasoning'),
    });
    if (usage === undefined || hasTwin(usage, this.state.open.records, this.state.open.rows)) return [];
    const model = this.#kit.toId(row.copilot_usage_model) ?? this.#kit.toId(row.model);
    const responseId = `copilot-store/${this.state.sessionId ?? ''}/${rowid ?? ''}`;
    const isSubagent = readText(row.parent_tool_call_id) !== null;
    const about = { model, timestampMs, isSubagent, stopReason: this.#kit.toId(row.finish_reason) ?? 'stop' };
    return [{ ...newUsageRecord({ responseId, usage }), ...about }];
  }

  /** A prompt and the final answer to it. The store has nothing else of the conversation. */
  #readTurn({ rowid, row }: CanonicalRow, timestampMs: number | undefined): TranscriptRecord[] {
    const uuid = `${this.state.sessionId ?? ''}/turn/${rowid ?? ''}`;
    const prompt = readText(row.user_message);
    const answer = readText(row.assistant_response);
    return [
      ...(prompt === null ? [] : this.#kit.toPromptRecords(prompt, { timestampMs, uuid }, uuid)),
      ...(answer === null
        ? []
        : [newMessage('assistant', { timestampMs, stopReason: 'stop', blocks: this.#kit.toBlocks(answer) })]),
    ];
  }

  #readRow(row: CanonicalRow, timestampMs: number | undefined): TranscriptRecord[] | undefined {
    if (row.table === 'sessions') return this.#readSession(row.row);
    if (row.table === 'turns') return this.#readTurn(row, timestampMs);
    return row.table === 'assistant_usage_events' ? this.#readUsage(row, timestampMs) : undefined;
  }

  /** The records of an event; without the counts that the store has in more detail if `isCounted`. */
  #toUncounted(records: readonly TranscriptRecord[], type: string, isCounted: boolean): TranscriptRecord[] {
    if (RECORDS.has(type)) return records.flatMap(this.#toRecorded);
    return isCounted ? records.flatMap(this.#toWithoutUsage) : [...records];
  }

  /** The facts of a usage record, unless a row has said so. */
  readonly #toRecorded = (record: TranscriptRecord): TranscriptRecord[] => {
    if ((record.kind !== 'usage' && record.kind !== 'message') || record.usage === undefined) return [];
    if (hasTwin(record.usage, this.state.open.rows, this.state.open.records)) return [];
    if (record.responseId !== null) push(this.state.recorded, record.responseId);
    return [record];
  };

  readonly #toWithoutUsage = (record: TranscriptRecord): TranscriptRecord[] => {
    if (record.kind === 'usage') return [];
    if (record.kind === 'session') {
      const { outputOnlyCount: _count, ...rest } = record;
      return [rest];
    }
    if (record.kind !== 'message' || record.usage === undefined) return [record];
    if (record.responseId !== null && this.state.recorded.includes(record.responseId)) return [record];
    const { usage_is_output_only: _mark, ...metadata } = record.metadata;
    return [{ ...record, usage: undefined, metadata }];
  };
}

/** True if the usage is one of `twins`, which it is then no longer; else it is added to `open`. */
function hasTwin(usage: Usage, twins: string[], open: string[]): boolean {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const name = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens].join('.');
  const index = twins.indexOf(name);
  if (index === -1) push(open, name);
  else twins.splice(index, 1);
  return index !== -1;
}

function push(all: string[], value: string): void {
  all.push(value);
  if (all.length > MAX_OPEN) all.shift();
}
