import type { PriceTable } from '../pricing/price-table.ts';
import type { MessageRecord } from '../records/claude-code/message-record.ts';
import { toIsoTimestamp } from '../records/claude-code/session-facts.ts';
import type { ParsedContentBlock, TranscriptMessage } from '../rows.ts';
import { toFinalUsage, toUsage, toUsageMetadata, type Usage } from '../usage/usage.ts';
import type { BlockContent } from './content-blocks.ts';
import type { TranscriptTotals } from './transcript-totals.ts';

/** Output counts that the API reports when a response starts to stream; final ones this small carry a stop_reason. */
const MAX_PLACEHOLDER_OUTPUT_TOKENS = 8;

export interface LinePlace {
  lineNumber: number;
  byteOffset: number;
  byteLength: number;
}

export interface AssemblerOptions {
  sessionId: string;
  nextId: (timeMs: number) => string;
  prices: PriceTable;
  usageFrom: 'first' | 'final';
  /** Responses whose later lines are still joined to them; the least recently seen ones fall out. */
  maxOpenMessages: number;
}

/** Where the assembler puts what it makes; `isFlushed` tells rows that can no longer be changed in place. */
export interface RowSink {
  addMessage(message: TranscriptMessage): void;
  addBlock(block: ParsedContentBlock): void;
  /** A message changed; called whether or not it has left the sink already. */
  changeMessage(message: TranscriptMessage): void;
}

export interface MessageAssembler {
  add(
    record: MessageRecord,
    blocks: readonly BlockContent[],
    place: LinePlace,
    report: { onInvalidUsage: (field: string) => void; onWindowExceeded: () => void },
  ): void;
}

interface OpenMessage {
  row: TranscriptMessage;
  usage: Usage | undefined;
  blockCount: number;
  lineCount: number;
}

/**
 * Builds messages from records: all assistant lines that share a `message.id` are one message at the place of the
 * first, wherever in the transcript the others stand; every other line is a message of its own.
 */
export function createMessageAssembler(
  options: AssemblerOptions,
  totals: TranscriptTotals,
  sink: RowSink,
): MessageAssembler {
  const openMessages = new Map<string, OpenMessage>();
  let ordinal = 0;
  let lastTimeMs = 0;

  const openMessage = (record: MessageRecord, place: LinePlace): OpenMessage => {
    lastTimeMs = record.timestampMs ?? lastTimeMs;
    const row = toMessageRow(options.sessionId, options.nextId(lastTimeMs), ordinal++, record, place);
    totals.addMessage(row);
    sink.addMessage(row);
    return { row, usage: undefined, blockCount: 0, lineCount: 1 };
  };

  /** Prices the message anew even where the line brings no usage: it may have brought the model. */
  const applyUsage = (message: OpenMessage, usage: Usage | undefined): void => {
    if (message.usage === undefined) message.usage = usage;
    else if (usage !== undefined && options.usageFrom === 'final') message.usage = toFinalUsage(message.usage, usage);
    if (message.usage === undefined) return;
    const { row } = message;
    const before = { ...row };
    setUsageColumns(row, message.usage, options.prices);
    totals.replaceUsage(before, row);
  };

  return {
    add(record, blocks, place, report) {
      const known = record.messageId === null ? undefined : openMessages.get(record.messageId);
      const message = known ?? openMessage(record, place);
      if (record.messageId !== null) {
        if (known !== undefined) openMessages.delete(record.messageId);
        openMessages.set(record.messageId, message);
        const oldest = openMessages.size > options.maxOpenMessages ? openMessages.keys().next().value : undefined;
        if (oldest !== undefined) {
          openMessages.delete(oldest);
          report.onWindowExceeded();
        }
      }
      if (known !== undefined) mergeLine(message, record);
      applyUsage(message, record.usage && toUsage(record.usage, report.onInvalidUsage));
      markUnfinalised(message);
      for (const content of blocks) {
        const block = toBlockRow(message, content, options, lastTimeMs, place);
        totals.addBlock(block);
        sink.addBlock(block);
      }
      if (known !== undefined) sink.changeMessage(message.row);
    },
  };
}

function toMessageRow(
  sessionId: string,
  id: string,
  ordinal: number,
  record: MessageRecord,
  place: LinePlace,
): TranscriptMessage {
  return {
    id,
    session_id: sessionId,
    line_number: place.lineNumber,
    ordinal,
    message_type: record.type,
    role: record.role,
    model: record.model,
    tokens_in: null,
    tokens_out: null,
    cache_read: null,
    cache_write: null,
    cost_usd: null,
    timestamp: toIsoTimestamp(record.timestampMs),
    has_text: false,
    has_thinking: false,
    has_tool_use: false,
    has_tool_result: false,
    metadata: record.metadata,
    provider_message_id: record.messageId,
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

/** Adds what a later line of the same response tells: gaps are filled, the stop reason is the last one given. */
function mergeLine(message: OpenMessage, record: MessageRecord): void {
  const { row } = message;
  row.model ??= record.model;
  row.request_id ??= record.requestId;
  row.timestamp ??= toIsoTimestamp(record.timestampMs);
  row.stop_reason = record.stopReason ?? row.stop_reason;
  row.metadata = { ...record.metadata, ...row.metadata, line_count: ++message.lineCount };
}

function setUsageColumns(row: TranscriptMessage, usage: Usage, prices: PriceTable): void {
  row.tokens_in = usage.inputTokens;
  row.tokens_out = usage.outputTokens;
  row.cache_read = usage.cacheReadTokens;
  row.cache_write = usage.cacheWriteTokens;
  row.cost_usd = prices.price({ model: row.model, timestamp: row.timestamp, usage }).costUsd;
  const details = toUsageMetadata(usage);
  if (details === undefined) delete row.metadata.usage;
  else row.metadata.usage = details;
}

function markUnfinalised({ row, usage }: OpenMessage): void {
  const isPlaceholder =
    usage !== undefined &&
    row.stop_reason === null &&
    usage.outputTokens > 0 &&
    usage.outputTokens <= MAX_PLACEHOLDER_OUTPUT_TOKENS;
  if (isPlaceholder) row.metadata.usage_unfinalised = true;
  else delete row.metadata.usage_unfinalised;
}

function toBlockRow(
  message: OpenMessage,
  content: BlockContent,
  options: AssemblerOptions,
  timeMs: number,
  place: LinePlace,
): ParsedContentBlock {
  const { row } = message;
  row.has_text ||= content.block_type === 'text';
  row.has_thinking ||= content.block_type === 'thinking' || content.block_type === 'redacted_thinking';
  row.has_tool_use ||= content.block_type === 'tool_use';
  row.has_tool_result ||= content.block_type === 'tool_result';
  return {
    id: options.nextId(timeMs),
    message_id: row.id,
    session_id: options.sessionId,
    block_order: message.blockCount++,
    ...content,
    line_number: place.lineNumber,
    byte_offset: place.byteOffset,
    byte_length: place.byteLength,
  };
}
