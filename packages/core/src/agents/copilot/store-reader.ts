import { cutCharacters, readText } from '../../records/fields.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { type CanonicalRow, readCanonicalRow } from '../canonical-lines.ts';
import { newMessage, newUsageRecord } from '../new-records.ts';
import { createReaderKit, toSessionRecord, toUsageIfAny } from '../reader-kit.ts';
import type { TranscriptRecord } from '../records.ts';
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
}

/**
 * Reads sessions of Copilot CLI as `packages/collect` writes them: lines of `events.jsonl` merged with rows of
 * `session-store.db`, which has the tokens of each request by class; or only the rows, if the events are gone.
 */
export function createCopilotStoreReader(
  context: ReaderContext,
  state: CopilotStoreState = { sessionId: null, storeSinceMs: undefined, events: undefined },
): Reader {
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
    if (usage === undefined) return [];
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

  /** Removes the counts that the store has in more detail. */
  const toWithoutUsage = (record: TranscriptRecord): TranscriptRecord[] => {
    if (record.kind === 'usage') return [];
    if (record.kind === 'session') {
      const { outputOnlyCount: _count, ...rest } = record;
      return [rest];
    }
    if (record.kind !== 'message' || record.usage === undefined) return [record];
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
      return isCounted ? { ...event, records: event.records.flatMap(toWithoutUsage) } : event;
    },
  };
}

/** `2026-07-01 12:34:56` is in UTC. */
function toUtc(time: JsonValue | undefined): JsonValue | undefined {
  return typeof time === 'string' && /^\d{4}-\d{2}-\d{2} [\d:.]+$/.test(time) ? `${time.replace(' ', 'T')}Z` : time;
}
