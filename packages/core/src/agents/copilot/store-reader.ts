import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { TranscriptRecord } from '../../records/records.ts';
import type { Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { type CanonicalRow, readCanonicalRow } from '../canonical-lines.ts';
import { createReaderKit, toSessionRecord, toUsageIfAny } from '../reader-kit.ts';
import { newUnknown } from '../unread-lines.ts';
import { createCopilotReader } from './reader.ts';
import { COPILOT_TOOLS } from './tools.ts';

interface CopilotStoreState {
  sessionId: string | null;
  /**
   * When the store's first usage row was written: from then on it has every request, and the events' own counts are
   * ignored.
   */
  storeSinceMs: number | undefined;
  /** State of the reader of events. */
  events: unknown;
  /** Usage of the latest rows, and of the latest usage records of events, whose twin has not come yet. */
  open: { rows: string[]; records: string[] };
  /** The latest responses that count by their record: no row had the same usage before. */
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
 * Reads sessions of Copilot CLI as `packages/collect` writes them: lines of `events.jsonl` merged with rows of
 * `session-store.db`, which has the tokens of each request by class; or only the rows, if the events are gone. From 1.0.102 on, events have them as
 * well, and the database lacks the last rows of a program that ended abruptly: a row and a record with the same counts,
 * which name each other in no other way, are one response.
 */
export function createCopilotStoreReader(context: ReaderContext, state = createState()): Reader {
  const kit = createReaderKit(context, COPILOT_TOOLS);
  const eventReader = createCopilotReader(context, ...(state.events === undefined ? [] : [state.events as never]));
  state.events = eventReader.state;

  const readSession = (row: JsonObject): TranscriptRecord[] => {
    const sessionId = kit.toId(row.id);
    const session = toSessionRecord({ sessionId, cwd: kit.toId(row.cwd), gitBranch: kit.toId(row.branch) });
    const summary = readText(row.summary);
    const title = summary === null ? [] : [{ source: 'generated', text: cutCharacters(summary, 512) } as const];
    return [session ?? [], title.map((text) => ({ kind: 'session', title: text }) as const)].flat();
  };

  /** `input_tokens` includes cache reads and writes, `output_tokens` includes reasoning. */
  const readUsage = ({ rowid, row }: CanonicalRow, timestampMs: number | undefined): TranscriptRecord[] => {
    const count = (name: string): number => kit.toCount(row, `${name}_tokens`);
    const cacheReadTokens = count('cache_read');
    const cacheWriteTokens = count('cache_write');
    const usage = toUsageIfAny({
      inputTokens: Math.max(0, count('input') - cacheReadTokens - cacheWriteTokens),
      outputTokens: count('output'),
      cacheReadTokens,
      cacheWriteTokens,
      thinkingTokens: count('reasoning'),
    });
    if (usage === undefined || hasTwin(usage, state.open.records, state.open.rows)) return [];
    const model = kit.toId(row.copilot_usage_model) ?? kit.toId(row.model);
    const responseId = `copilot-store/${state.sessionId ?? ''}/${rowid ?? ''}`;
    const isSubagent = readText(row.parent_tool_call_id) !== null;
    const about = { model, timestampMs, isSubagent, stopReason: kit.toId(row.finish_reason) ?? 'stop' };
    return [{ ...newUsageRecord({ responseId, usage }), ...about }];
  };

  /** A prompt and the final answer to it: the store has nothing else of the conversation. */
  const readTurn = ({ rowid, row }: CanonicalRow, timestampMs: number | undefined): TranscriptRecord[] => {
    const uuid = `${state.sessionId ?? ''}/turn/${rowid ?? ''}`;
    const prompt = readText(row.user_message);
    const answer = readText(row.assistant_response);
    return [
      ...(prompt === null ? [] : kit.toPromptRecords(prompt, { timestampMs, uuid }, uuid)),
      ...(answer === null
        ? []
        : [newMessage('assistant', { timestampMs, stopReason: 'stop', blocks: kit.toBlocks(answer) })]),
    ];
  };

  const readRow = (row: CanonicalRow, timestampMs: number | undefined): TranscriptRecord[] | undefined => {
    if (row.table === 'sessions') return readSession(row.row);
    if (row.table === 'turns') return readTurn(row, timestampMs);
    return row.table === 'assistant_usage_events' ? readUsage(row, timestampMs) : undefined;
  };

  /** The records of an event; without the counts that the store has in more detail if `isCounted`. */
  const toUncounted = (records: readonly TranscriptRecord[], type: string, isCounted: boolean): TranscriptRecord[] => {
    if (RECORDS.has(type)) return records.flatMap(toRecorded);
    return isCounted ? records.flatMap(toWithoutUsage) : [...records];
  };

  /** What a usage record says, unless a row has said so. */
  const toRecorded = (record: TranscriptRecord): TranscriptRecord[] => {
    if ((record.kind !== 'usage' && record.kind !== 'message') || record.usage === undefined) return [];
    if (hasTwin(record.usage, state.open.rows, state.open.records)) return [];
    if (record.responseId !== null) push(state.recorded, record.responseId);
    return [record];
  };

  const toWithoutUsage = (record: TranscriptRecord): TranscriptRecord[] => {
    if (record.kind === 'usage') return [];
    if (record.kind === 'session') {
      const { outputOnlyCount: _count, ...rest } = record;
      return [rest];
    }
    if (record.kind !== 'message' || record.usage === undefined) return [record];
    if (record.responseId !== null && state.recorded.includes(record.responseId)) return [record];
    const { usage_is_output_only: _mark, ...metadata } = record.metadata;
    return [{ ...record, usage: undefined, metadata }];
  };

  return {
    state,
    read(line, place) {
      if (line.recount === 'session') {
        state.sessionId = kit.toId(line.session);
        state.storeSinceMs = kit.toTimeMs(toUtc(line.rowsSince));
        return { type: 'header', timestampMs: undefined, records: [] };
      }
      const row = readCanonicalRow(line);
      if (row !== undefined) {
        const timestampMs = kit.toTimeMs(toUtc(row.row.created_at ?? row.row.timestamp));
        return { type: row.table, timestampMs, records: readRow(row, timestampMs) ?? [newUnknown(row.table, row.row)] };
      }
      const event = eventReader.read(line, place);
      const isCounted = state.storeSinceMs !== undefined && (event.timestampMs ?? 0) >= state.storeSinceMs;
      return { ...event, records: toUncounted(event.records, event.type ?? '', isCounted) };
    },
  };
}

/** `2026-07-01 12:34:56` is in UTC. */
function toUtc(time: JsonValue | undefined): JsonValue | undefined {
  return typeof time === 'string' && /^\d{4}-\d{2}-\d{2} [\d:.]+$/.test(time) ? `${time.replace(' ', 'T')}Z` : time;
}

/** Whether the usage is one of `twins`, which it is then no longer; else it is added to `open`. */
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
