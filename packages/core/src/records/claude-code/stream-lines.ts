import type { JsonObject } from '../../rows.ts';
import { readObject, readText } from '../fields.ts';

/** Types that only the stream of `claude -p --output-format stream-json` has, beside those of a transcript. */
export const STREAM_LINE_TYPES: ReadonlySet<string> = new Set([
  'auth_status',
  'control_cancel_request',
  'control_request',
  'control_response',
  'keep_alive',
  'prompt_suggestion',
  'rate_limit_event',
  'stream_event',
  'thinking',
  'tool_progress',
  'tool_use_summary',
]);

/** Those of the stream's system lines that session files have as well; the others are bookkeeping, and no messages. */
const MESSAGE_SUBTYPES: ReadonlySet<unknown> = new Set([
  'api_error',
  'api_retry',
  'compact_boundary',
  'informational',
  'local_command',
  'microcompact_boundary',
]);

/** Sub-agents under way at once whose streamed responses are told apart; the oldest fall out. */
const MAX_OPEN_RESPONSES = 1000;

/** Up to `endOffset` bytes of a stream had been received at `timeMs`. */
export interface Arrival {
  endOffset: number;
  /** Milliseconds since 1970. */
  timeMs: number;
}

export interface TranscriptLine {
  value: JsonObject;
  /** Whether the line is no message, though its type may be a message's. */
  isBookkeeping: boolean;
}

export interface StreamLineReader {
  /** The line as a session file would have it. `endOffset` is where it ends in the stream. */
  toTranscriptLine(line: JsonObject, endOffset: number): TranscriptLine;
}

/** Whether a line is of a stream: session files write `sessionId`. */
export function isStreamLine(line: JsonObject): boolean {
  return typeof line.session_id === 'string' && line.sessionId === undefined;
}

/**
 * Translates lines of a stream, one after another, into those of a session file. They have no times of their own: where
 * it is known when their bytes arrived, that is their time. Bounded by MAX_OPEN_RESPONSES.
 */
export function createStreamLineReader(
  arrivals: readonly Arrival[] = [],
  /** Message ids of the responses that are streaming, by the tool use of the sub-agent that gets them. */
  openResponses = new Map<string, string>(),
): StreamLineReader {
  const timeOf = createArrivalClock(arrivals);

  const toApiEventLine = (line: JsonObject, parent: string): JsonObject | undefined => {
    const event = readObject(line.event);
    if (event?.type === 'message_start') {
      const message = readObject(event.message);
      const id = readText(message?.id);
      if (id === null) return undefined;
      openResponses.delete(parent);
      openResponses.set(parent, id);
      const [oldest] = openResponses.keys();
      if (openResponses.size > MAX_OPEN_RESPONSES && oldest !== undefined) openResponses.delete(oldest);
      return toUsageLine(line, id, message?.usage, { model: message?.model ?? null });
    }
    const id = openResponses.get(parent);
    if (event?.type !== 'message_delta' || id === undefined) return undefined;
    return toUsageLine(line, id, event.usage, { stop_reason: readObject(event.delta)?.stop_reason ?? null });
  };

  return {
    toTranscriptLine(line, endOffset) {
      const parent = readText(line.parent_tool_use_id);
      const source = line.type === 'stream_event' ? (toApiEventLine(line, parent ?? '') ?? line) : line;
      const value: JsonObject = { ...source, sessionId: source.session_id ?? null };
      if (parent !== null) value.isSidechain = true;
      const timeMs = value.timestamp === undefined || value.timestamp === null ? timeOf(endOffset) : undefined;
      if (timeMs !== undefined) value.timestamp = new Date(timeMs).toISOString();
      renameFields(value);
      const isBookkeeping =
        STREAM_LINE_TYPES.has(readText(value.type) ?? '') ||
        (value.type === 'system' && !MESSAGE_SUBTYPES.has(value.subtype ?? null));
      return { value, isBookkeeping };
    },
  };
}

/** A line of the response that has usage and no content; without a uuid, which is not the message's. */
function toUsageLine(
  line: JsonObject,
  id: string,
  usage: JsonObject[string] | undefined,
  fields: JsonObject,
): JsonObject {
  const { event: _event, uuid: _uuid, ...envelope } = line;
  const message = { id, role: 'assistant', content: [], ...fields, usage: usage ?? null };
  return { ...envelope, type: 'assistant', message };
}

function renameFields(value: JsonObject): void {
  if (value.claude_code_version !== undefined) value.version = value.claude_code_version;
  if (value.tool_use_result !== undefined) value.toolUseResult = value.tool_use_result;
  if (value.isSynthetic === true) value.isMeta = true;
  if (value.type === 'assistant' && readText(value.error) !== null) value.isApiErrorMessage = true;
  const compact = readObject(value.compact_metadata);
  if (compact !== undefined) {
    const { trigger = null, pre_tokens = null, post_tokens = null } = compact;
    value.compactMetadata = { trigger, preTokens: pre_tokens, postTokens: post_tokens };
  }
  if (value.subtype === 'api_retry') {
    value.retryInMs = value.retry_delay_ms ?? null;
    value.retryAttempt = value.attempt ?? null;
    value.maxRetries = value.max_retries ?? null;
  }
}

/** When the byte before an offset arrived. Offsets must not fall from call to call. */
function createArrivalClock(arrivals: readonly Arrival[]): (endOffset: number) => number | undefined {
  let index = 0;
  return (endOffset) => {
    while (index < arrivals.length - 1 && (arrivals[index]?.endOffset ?? 0) < endOffset) index++;
    return arrivals[index]?.timeMs;
  };
}
