import type { JsonObject } from '../../lines/json.ts';
import { readObject, readText } from '../../records/fields.ts';
import { toMessageType } from './line-types.ts';

/** System lines of the stream that session files have too; all others are bookkeeping, not messages. */
const MESSAGE_SUBTYPES: ReadonlySet<string> = new Set([
  'api_error',
  'api_retry',
  'compact_boundary',
  'informational',
  'local_command',
  'local_command_output',
  'microcompact_boundary',
  'model_refusal_fallback',
  'model_refusal_no_fallback',
]);

/** Concurrent sub-agents whose streamed responses are tracked; the oldest are dropped. */
const MAX_OPEN_RESPONSES = 1000;

export interface TranscriptLine {
  value: JsonObject;
  /** True if the line is not a message although its type may be a message's. */
  isBookkeeping: boolean;
}

export interface StreamLineState {
  /** True if stream lines have been seen. Lines without a session id then belong to the stream too. */
  isStream: boolean;
  /** Message ids of the responses being streamed, by the tool use that started the receiving sub-agent. */
  openResponses: Map<string, string>;
}

/** True if a line is from a stream. Session files write `sessionId` instead. */
export function isStreamLine(line: JsonObject, state: StreamLineState): boolean {
  if (line.sessionId !== undefined) return false;
  if (typeof line.session_id === 'string') state.isStream = true;
  return state.isStream;
}

/** Converts a stream line to the form of a session file. The state is bounded by MAX_OPEN_RESPONSES. */
export function toTranscriptLine(line: JsonObject, { openResponses }: StreamLineState): TranscriptLine {
  const parent = readText(line.parent_tool_use_id);
  const source = line.type === 'stream_event' ? (toApiEventLine(line, parent ?? '', openResponses) ?? line) : line;
  const value: JsonObject = { ...source, sessionId: source.session_id ?? null };
  if (parent !== null) value.isSidechain = true;
  renameFields(value);
  const { type, subtype } = value;
  const isState = type === 'system' && typeof subtype === 'string' && !MESSAGE_SUBTYPES.has(subtype);
  const isBookkeeping = isState || toMessageType(readText(type) ?? '') === undefined;
  return { value, isBookkeeping };
}

/** Undefined for an event without usage. */
function toApiEventLine(
  line: JsonObject,
  parent: string,
  openResponses: StreamLineState['openResponses'],
): JsonObject | undefined {
  const event = readObject(line.event);
  if (event?.type === 'message_start') {
    const message = readObject(event.message);
    const id = readText(message?.id);
    openResponses.delete(parent);
    if (id === null) return undefined;
    openResponses.set(parent, id);
    const [oldest] = openResponses.keys();
    if (openResponses.size > MAX_OPEN_RESPONSES && oldest !== undefined) openResponses.delete(oldest);
    return toUsageLine(line, id, message?.usage, { model: message?.model ?? null });
  }
  const id = openResponses.get(parent);
  if (event?.type !== 'message_delta' || id === undefined) return undefined;
  return toUsageLine(line, id, event.usage, { stop_reason: readObject(event.delta)?.stop_reason ?? null });
}

/** A line of the response with usage but no content. It has no uuid, because the event's is not the message's. */
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
