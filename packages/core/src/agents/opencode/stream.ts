import type { JsonObject } from '../../lines/json.ts';
import { readObject, readText } from '../../records/fields.ts';
import { newMessage } from '../../records/new-records.ts';
import type { MessageRecord, TranscriptRecord } from '../../records/records.ts';
import type { Format, Reader, ReaderContext, ReaderLine } from '../agent.ts';
import { createReaderKit, readType, toSessionRecord } from '../reader-kit.ts';
import { newUnknown } from '../unread-lines.ts';
import type { PartsState } from './parts.ts';
import { createOpencodeReader } from './reader.ts';

const PART_EVENTS = new Set<unknown>(['step_start', 'text', 'reasoning', 'tool_use', 'step_finish']);

/** The output of `run --format json`, for opencode or an agent built on it. */
export function toStreamFormat(id: string, confidence: number): Format {
  return {
    id,
    kind: 'stream',
    detect: ({ type, sessionID }) =>
      (PART_EVENTS.has(type) || type === 'error') && typeof sessionID === 'string' ? confidence : 0,
    identify({ type, sessionID }, found) {
      found.sessionId ??= readText(sessionID) ?? undefined;
      found.hasMessage ||= type === 'text' || type === 'tool_use';
    },
    createReader: createOpencodeStreamReader,
  };
}

/**
 * Reads `{"type":"text","timestamp":1,"sessionID":"ses_1","part":{…}}`, which are parts as in the session's store, but
 * without their messages, which hold the prompts, the models and the times that name a response.
 * https://github.com/anomalyco/opencode packages/opencode/src/cli/cmd/run.ts
 */
function createOpencodeStreamReader(context: ReaderContext, state?: PartsState): Reader {
  const kit = createReaderKit(context, {});
  const store = createOpencodeReader(context, state);

  const readPart = (part: JsonObject, line: ReaderLine, timestampMs: number | undefined): TranscriptRecord[] => {
    // The time shows whether reasoning is part of the output.
    const time = timestampMs === undefined ? null : { created: timestampMs };
    const info = { id: part.messageID ?? null, role: 'assistant', time };
    const { records } = store.read({ messages: { info, parts: [part] } }, line);
    return records.flatMap((record): TranscriptRecord[] => {
      if (record.kind === 'message') return record.blocks.length === 0 ? [] : [withTime(record, timestampMs)];
      if (record.kind !== 'usage') return [record];
      const responseId = `opencode-step/${kit.toId(part.id) ?? ''}`;
      return [{ ...record, responseId, timestampMs: record.timestampMs ?? timestampMs }];
    });
  };

  const readError = (value: JsonObject | undefined, timestampMs: number | undefined): TranscriptRecord[] => {
    const name = kit.toId(value?.name) ?? kit.toId(value?.type);
    const text = readText(readObject(value?.data)?.message) ?? readText(value?.message) ?? name ?? '';
    const event = kit.toEvent({ kind: 'api_error', name, details: {} }, null, timestampMs);
    return [event, newMessage('system', { timestampMs, blocks: kit.toBlocks(text) })];
  };

  const readEvent = (
    type: string,
    line: JsonObject,
    place: ReaderLine,
    timestampMs: number | undefined,
  ): TranscriptRecord[] => {
    if (type === 'error') return readError(readObject(line.error), timestampMs);
    const part = readObject(line.part);
    if (part === undefined || !PART_EVENTS.has(type)) return [newUnknown(type, line)];
    const session = type === 'step_start' ? toSessionRecord({ sessionId: kit.toId(line.sessionID) }) : undefined;
    return [session ?? [], readPart(part, place, timestampMs)].flat();
  };

  return {
    state: store.state,
    finish: () => store.finish?.(),
    read(line, place) {
      const type = readType(line.type);
      const timestampMs = kit.toTimeMs(line.timestamp) ?? place.arrivalMs;
      return { type, timestampMs, records: type === undefined ? [] : readEvent(type, line, place, timestampMs) };
    },
  };
}

/** Only tool results have separate times. */
function withTime(message: MessageRecord, timeMs: number | undefined): MessageRecord {
  const timestampMs = message.timestampMs ?? timeMs;
  return { ...message, timestampMs, timestamp: timestampMs === undefined ? null : new Date(timestampMs).toISOString() };
}
