import type { PriceTable } from '../pricing/price-table.ts';
import type { MessageRecord } from '../records/claude-code/message-record.ts';
import type { ProgressRecord } from '../records/claude-code/progress-record.ts';
import { toIsoTimestamp } from '../records/fields.ts';
import type { ApiResponse, ParsedContentBlock, ToolCall, TranscriptMessage } from '../rows.ts';
import {
  createOpenResponse,
  isApiResponse,
  joinProgress,
  type OpenResponse,
  observeContent,
  observeSearches,
  observeUsage,
  toApiResponses,
} from '../usage/open-response.ts';
import { toResponseKey } from '../usage/response-key.ts';
import { type ActiveTimeState, createActiveTime, createActiveTimeState } from './active-time.ts';
import { type BlockContent, toWrittenBytes } from './content-blocks.ts';
import { type LinePlace, mergeLine, setUsageColumns, toBlockRow, toMessageRow } from './message-rows.ts';
import { createResponsePacker } from './packed-response.ts';
import { createResponseWindow, type ResponseWindowState, type WindowEntry } from './response-window.ts';
import { createToolCallState, createToolCallTracker, type ToolCallSink, type ToolCallState } from './tool-calls.ts';
import { isToolUse } from './tool-use.ts';
import type { TranscriptTotals } from './transcript-totals.ts';

export interface AssemblerOptions {
  sessionId: string;
  nextId: (timeMs: number) => string;
  prices: PriceTable;
  usageFrom: 'first' | 'final';
  /** Responses whose later lines are still joined to them; the least recently seen ones fall out. */
  maxOpenMessages: number;
  /** Of these the ones seen last, which are kept as they are; older ones are packed. */
  maxUnpackedMessages: number;
  /** Tool calls that wait for their results, and results that wait for their calls. */
  maxOpenToolCalls: number;
  /** Responses that `closeForCheckpoint` leaves open. */
  maxResponsesInCheckpoint: number;
}

/** Where the assembler puts what it makes. */
export interface AssemblySink {
  addMessage(message: TranscriptMessage): void;
  addBlock(block: ParsedContentBlock): void;
  /** A message changed; called whether or not it has left the sink already. */
  changeMessage(message: TranscriptMessage): void;
  /** Responses and calls come once each, in their final state. */
  addApiResponse(response: ApiResponse): void;
  addToolCall(call: ToolCall): void;
}

export interface AssemblerReport {
  onInvalidUsage: (field: string) => void;
  onWindowExceeded: () => void;
}

export interface MessageAssembler {
  add(record: MessageRecord, blocks: readonly BlockContent[], place: LinePlace, report: AssemblerReport): void;
  /** Takes in a sub-agent's response that a progress line tells of: its usage, no message. */
  addProgress(record: ProgressRecord, blocks: readonly BlockContent[], place: LinePlace, report: AssemblerReport): void;
  /**
   * Emits what has been open for longest: a tool call without its result, or a response. To be called after the last
   * line, until it returns false: nothing is open any more.
   */
  closeOldest(): boolean;
  /** See `ActiveTime`. */
  toActiveMs(): number | null;
  /**
   * Emits the oldest response that is no longer likely to change. To be called until it returns false: the state then holds
   * the last ones, and nothing else of it grows with the transcript but names.
   */
  closeForCheckpoint(): boolean;
  /** After that: false where a later line could change a response that was emitted unnoticed. */
  isCheckpointSafe(): boolean;
}

export interface AssemblerState {
  nextOrdinal: number;
  lastTimeMs: number;
  activeTime: ActiveTimeState;
  window: ResponseWindowState<OpenMessage>;
  toolCalls: ToolCallState;
}

export function createAssemblerState(): AssemblerState {
  return {
    nextOrdinal: 0,
    lastTimeMs: 0,
    activeTime: createActiveTimeState(),
    window: { entries: new Map(), closedKeys: new Set() },
    toolCalls: createToolCallState(),
  };
}

export interface OpenMessage {
  row: TranscriptMessage;
  /** Undefined for what is no assistant's. */
  response: OpenResponse | undefined;
  blockCount: number;
  lineCount: number;
}

/**
 * Builds messages from records: all assistant lines that share a `message.id` are one message at the place of the
 * first, wherever in the transcript the others stand; every other line is a message of its own. What the lines tell of
 * API responses and tool calls is emitted once no later line can change it.
 */
export function createMessageAssembler(
  options: AssemblerOptions,
  totals: TranscriptTotals,
  sink: AssemblySink,
  state: AssemblerState = createAssemblerState(),
): MessageAssembler {
  const { sessionId, prices, usageFrom } = options;
  const toolCallSink: ToolCallSink = {
    addCall: (call) => sink.addToolCall(call),
    addSearches: (row, response, searchCount) => {
      if (!observeSearches(response, searchCount, prices)) return;
      setUsageColumns(row, response);
      sink.changeMessage(row);
    },
  };
  const toolCalls = createToolCallTracker(options, toolCallSink, state.toolCalls);
  const activeTime = createActiveTime(state.activeTime);

  const emitResponse = ({ message, progress }: WindowEntry<OpenMessage>): void => {
    const told = message?.response;
    const response = told === undefined || progress === undefined ? (told ?? progress) : joinProgress(told, progress);
    for (const row of response === undefined ? [] : toApiResponses(response, prices)) {
      totals.addResponse(row);
      sink.addApiResponse(row);
    }
  };
  const packer = createResponsePacker();
  const window = createResponseWindow(options, emitResponse, state.window, {
    // An open call changes the response and reads the row that it was made with.
    pack: (entry) => (toolCalls.hasOpenCall(entry.message?.response) ? undefined : packer.pack(entry)),
    unpack: packer.unpack,
  });

  /** A copy of a line without a message id is a message of its own, but shares the response. */
  const openMessage = (record: MessageRecord, place: LinePlace, shared: OpenResponse | undefined): OpenMessage => {
    state.lastTimeMs = record.timestampMs ?? state.lastTimeMs;
    const identity = { id: options.nextId(state.lastTimeMs), sessionId, position: state.nextOrdinal++ };
    const row = toMessageRow(identity, record, place);
    totals.addMessage(row);
    if (record.timestampMs !== undefined) activeTime.add(record.timestampMs);
    sink.addMessage(row);
    const response = record.type === 'assistant' ? (shared ?? toMessageResponse(record, row)) : undefined;
    return { row, response, blockCount: 0, lineCount: 1 };
  };

  const applyUsage = (message: OpenMessage, record: MessageRecord, report: AssemblerReport): void => {
    const { response } = message;
    if (response === undefined) return;
    const isFirst = response.usage === undefined;
    observeUsage(response, record, { prices, usageFrom, onInvalidUsage: report.onInvalidUsage });
    if (isFirst && isApiResponse(response) && !response.isSubagent) totals.addAnswer();
  };

  const addBlocks = (
    message: OpenMessage,
    record: MessageRecord,
    blocks: readonly BlockContent[],
    place: LinePlace,
  ): void => {
    const { row, response } = message;
    for (const [index, content] of blocks.entries()) {
      const identity = { id: options.nextId(state.lastTimeMs), sessionId, position: message.blockCount++ };
      const block = toBlockRow(identity, row, content, place);
      totals.addBlock(block);
      sink.addBlock(block);
      if (response === undefined) continue;
      observeBlock(response, content);
      if (isToolUse(content)) toolCalls.addUse(content, { index, record, row, response, lineNumber: place.lineNumber });
    }
    if (response !== undefined) setUsageColumns(row, response);
    toolCalls.addResults(blocks, record);
  };

  const addLine = (message: OpenMessage, record: MessageRecord): void => {
    const { timestamp: earlier } = message.row;
    mergeLine(message.row, record, ++message.lineCount);
    const { timestamp } = message.row;
    if (timestamp === null || timestamp === earlier) return;
    activeTime.move(earlier === null ? undefined : Date.parse(earlier), Date.parse(timestamp));
  };

  const toEntry = (record: MessageRecord | ProgressRecord, place: LinePlace): WindowEntry<OpenMessage> => {
    const groupKey = window.toGroupKey(record, place.lineNumber);
    return window.get(groupKey) ?? { groupKey, message: undefined, progress: undefined };
  };

  return {
    add(record, blocks, place, report) {
      const isResponse = record.type === 'assistant' && (record.messageId !== null || record.usage !== undefined);
      const entry = isResponse ? toEntry(record, place) : undefined;
      const known = record.messageId === null ? undefined : entry?.message;
      const message = known ?? openMessage(record, place, entry?.message?.response);
      if (known !== undefined) addLine(known, record);
      applyUsage(message, record, report);
      addBlocks(message, record, blocks, place);
      if (known !== undefined) sink.changeMessage(known.row);
      if (entry === undefined) return;
      entry.message ??= message;
      if (!window.keep(entry)) report.onWindowExceeded();
    },
    addProgress(record, blocks, place, report) {
      const entry = toEntry(record, place);
      entry.progress ??= toProgressResponse(record, sessionId, place.lineNumber);
      const { facts } = entry.progress;
      facts.stop_reason = record.stopReason ?? facts.stop_reason;
      observeUsage(entry.progress, record, { prices, usageFrom, onInvalidUsage: report.onInvalidUsage });
      for (const block of blocks) observeBlock(entry.progress, block);
      if (!window.keep(entry)) report.onWindowExceeded();
    },
    closeOldest: () => toolCalls.closeOldest() || window.closeOldest(),
    toActiveMs: activeTime.toActiveMs,
    closeForCheckpoint: () => window.closeForCheckpoint(options.maxResponsesInCheckpoint),
    isCheckpointSafe() {
      const open = new Set([...state.window.entries.values()].map(({ message }) => message?.response));
      return toolCalls.listOpenSearches().every((response) => open.has(response));
    },
  };
}

function observeBlock(response: OpenResponse, block: BlockContent): void {
  observeContent(response, block.tool_use_id ?? block.block_type, toWrittenBytes(block));
}

function toMessageResponse(record: MessageRecord, row: TranscriptMessage): OpenResponse {
  return createOpenResponse({
    key: toResponseKey(record, row.session_id, row.line_number),
    source: 'message',
    sessionId: row.session_id,
    messageRowId: row.id,
    facts: row,
    isSubagent: row.is_sidechain || row.agent_id !== null,
    gitBranch: record.gitBranch,
    agentVersion: record.version,
    isMarkedCopy: record.isMarkedCopy,
  });
}

function toProgressResponse(record: ProgressRecord, sessionId: string, lineNumber: number): OpenResponse {
  return createOpenResponse({
    key: toResponseKey(record, sessionId, lineNumber),
    source: 'progress',
    sessionId,
    messageRowId: null,
    facts: {
      provider_message_id: record.messageId,
      request_id: record.requestId,
      model: record.model,
      timestamp: toIsoTimestamp(record.timestampMs),
      agent_id: record.agentId,
      stop_reason: record.stopReason,
      line_number: lineNumber,
    },
    isSubagent: true,
    gitBranch: record.gitBranch,
    agentVersion: record.version,
    isMarkedCopy: record.isMarkedCopy,
  });
}
