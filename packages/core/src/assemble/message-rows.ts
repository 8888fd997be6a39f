import type { BlockContent, LinePlace, MessageRecord } from '../records/records.ts';
import { type ParsedContentBlock, type TranscriptMessage, UNKNOWN_MODEL } from '../records/rows.ts';
import { toUsageMetadata } from '../records/usage.ts';
import { isUnfinalised, type OpenResponse, toBilledUsage } from './open-response.ts';
import type { Price } from './price-table.ts';

interface RowIdentity {
  id: string;
  sessionId: string;
  /** Position among the transcript's messages, or among the message's blocks. */
  position: number;
}

/** The row from the message's first line, without usage. */
export function toMessageRow(identity: RowIdentity, record: MessageRecord, place: LinePlace): TranscriptMessage {
  return {
    id: identity.id,
    session_id: identity.sessionId,
    line_number: place.lineNumber,
    ordinal: identity.position,
    message_type: record.type,
    role: record.role,
    model: record.model,
    tokens_in: null,
    tokens_out: null,
    cache_read: null,
    cache_write: null,
    cost_usd: null,
    timestamp: record.timestamp,
    has_text: false,
    has_thinking: false,
    has_tool_use: false,
    has_tool_result: false,
    metadata: record.metadata,
    provider_message_id: record.responseId,
    request_id: record.requestId,
    uuid: record.uuid,
    parent_uuid: record.parentUuid,
    is_sidechain: record.isSidechain,
    agent_id: record.agentId,
    stop_reason: record.stopReason,
    byte_offset: place.byteOffset,
    byte_length: place.byteLength,
  };
}

/**
 * Merges a later line of the same response. Fills gaps, keeps the earliest time whatever the order of the lines, and
 * the last stop reason.
 */
export function mergeLine(row: TranscriptMessage, record: MessageRecord, lineCount: number): void {
  row.model = toKnownModel(row.model, record.model);
  row.request_id ??= record.requestId;
  row.uuid ??= record.uuid;
  row.timestamp = toEarlier(row.timestamp, record.timestamp);
  row.stop_reason = record.stopReason ?? row.stop_reason;
  row.metadata = { ...record.metadata, ...row.metadata, line_count: lineCount };
}

/** The first model that a record of the response names. */
export function toKnownModel(known: string | null, later: string | null): string | null {
  return known === null || known === UNKNOWN_MODEL ? (later ?? known) : known;
}

/** ISO 8601 in UTC sorts as text. */
function toEarlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return other < one ? other : one;
}

/** Fills in the columns about the response's usage; does nothing if no line had any. */
export function setUsageColumns(row: TranscriptMessage, response: OpenResponse, price: Price | undefined): void {
  const usage = toBilledUsage(response);
  if (usage === undefined) return;
  row.tokens_in = usage.inputTokens;
  row.tokens_out = usage.outputTokens;
  row.cache_read = usage.cacheReadTokens;
  row.cache_write = usage.cacheWriteTokens;
  row.cost_usd = price?.costUsd ?? null;
  const details = toUsageMetadata(usage);
  if (details !== undefined) row.metadata.usage = details;
  if (isUnfinalised(response)) row.metadata.usage_unfinalised = true;
}

/** Builds the block's row, and adds its kind to the message's. */
export function toBlockRow(
  identity: RowIdentity,
  message: TranscriptMessage,
  content: BlockContent,
  place: LinePlace,
): ParsedContentBlock {
  message.has_text ||= content.block_type === 'text';
  message.has_thinking ||= content.block_type === 'thinking' || content.block_type === 'redacted_thinking';
  message.has_tool_use ||= content.block_type === 'tool_use';
  message.has_tool_result ||= content.block_type === 'tool_result';
  return {
    id: identity.id,
    message_id: message.id,
    session_id: identity.sessionId,
    block_order: identity.position,
    block_type: content.block_type,
    content_text: content.content_text,
    thinking_text: content.thinking_text,
    tool_name: content.tool_name,
    tool_kind: content.toolUse?.facts.tool_kind ?? null,
    tool_use_id: content.tool_use_id,
    tool_input: content.tool_input,
    tool_result_id: content.tool_result_id,
    is_error: content.is_error,
    result_text: content.result_text,
    metadata: content.metadata,
    line_number: place.lineNumber,
    byte_offset: place.byteOffset,
    byte_length: place.byteLength,
  };
}
