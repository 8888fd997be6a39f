import type { BlockContent, LinePlace, MessageRecord, ResponseRecord, UsageRecord } from '../records/records.ts';
import { toIsoTimestamp } from '../records/timestamps.ts';
import { MAX_REQUESTS_PER_RESPONSE } from '../records/usage.ts';
import { type ActiveTimeState, createActiveTime, createActiveTimeState } from './active-time.ts';
import type { AssemblerOptions, AssemblySink, MessageAssembler } from './assembly.ts';
import { emitItem } from './emit-item.ts';
import { isOfSubagent, toMessageResponse, toUsageResponse } from './message-responses.ts';
import { mergeLine, setUsageColumns, toBlockRow, toKnownModel, toMessageRow } from './message-rows.ts';
import {
  isApiResponse,
  type OpenResponse,
  observeContent,
  observeUsage,
  priceResponse,
  toResponseKey,
} from './open-response.ts';
import {
  createResponseWindow,
  createResponseWindowState,
  type Grouping,
  type HeldItem,
  type OpenMessage,
  type ResponseWindowState,
} from './response-window.ts';
import {
  type CallFacts,
  createToolCallState,
  createToolCallTracker,
  type ToolCallSink,
  type ToolCallState,
} from './tool-calls.ts';
import type { TranscriptTotals } from './transcript-totals.ts';

export interface AssemblerState {
  nextOrdinal: number;
  lastTimeMs: number;
  activeTime: ActiveTimeState;
  window: ResponseWindowState;
  toolCalls: ToolCallState;
}

export function createAssemblerState(): AssemblerState {
  return {
    nextOrdinal: 0,
    lastTimeMs: 0,
    activeTime: createActiveTimeState(),
    window: createResponseWindowState(),
    toolCalls: createToolCallState(),
  };
}

/**
 * Builds messages from records: all assistant lines that share a `message.id` are one message at the place of the
 * first; every other line is a message of its own. Messages are held in a window of the latest ones and emitted, with
 * their API responses, when they leave it. A line that comes even later is a message of its own whose usage does not
 * count, because its response has been counted.
 */
export function createMessageAssembler(
  options: AssemblerOptions,
  totals: TranscriptTotals,
  sink: AssemblySink,
  state: AssemblerState = createAssemblerState(),
): MessageAssembler {
  const { sessionId, prices, usageFrom, isUsageOnly = false } = options;

  const emit = (item: HeldItem): void => {
    const { message } = item;
    if (message !== undefined) toolCalls.settleMessage(item.position, message.toolUseIds, toCallFacts(message));
    emitItem(item, { prices, totals, sink, isUsageOnly });
  };
  const window = createResponseWindow(options, emit, state.window);

  const toolCallSink: ToolCallSink = {
    addCall: (call) => sink.addToolCall(call),
    factsAt: (position) => toCallFacts(window.at(position)?.message),
    isUnnamedAt: (position) => window.at(position)?.message?.isUnnamed === true,
    addSearches(position, searchCount) {
      const response = window.at(position)?.message?.response;
      if (response === undefined) {
        options.onLate();
        return;
      }
      response.searchCount += searchCount;
      if (response.searchCount > MAX_REQUESTS_PER_RESPONSE) options.onImplausible('searchCount');
    },
  };
  const toolCalls = createToolCallTracker(options, toolCallSink, state.toolCalls);
  const activeTime = createActiveTime(state.activeTime);

  const beginMessage = (record: MessageRecord, place: LinePlace): OpenMessage => {
    state.lastTimeMs = record.timestampMs ?? state.lastTimeMs;
    const id = isUsageOnly ? '' : options.nextId(state.lastTimeMs);
    const row = toMessageRow({ id, sessionId, position: state.nextOrdinal++ }, record, place);
    totals.addMessage(row);
    if (record.timestampMs !== undefined) activeTime.add(record.timestampMs);
    const isUnnamed = record.group !== undefined;
    return { row, response: undefined, blockCount: 0, lineCount: 1, toolUseIds: [], isUnnamed };
  };

  const applyUsage = (response: OpenResponse, record: ResponseRecord): void => {
    const isFirst = response.usage === undefined;
    observeUsage(response, record, usageFrom);
    if (isFirst && isApiResponse(response) && !response.isSubagent) totals.addAnswer();
  };

  const addBlocks = (message: OpenMessage, position: number, record: MessageRecord, place: LinePlace): void => {
    const { row, response } = message;
    for (const [index, content] of record.blocks.entries()) {
      if (!isUsageOnly) {
        const identity = { id: options.nextId(state.lastTimeMs), sessionId, position: message.blockCount++ };
        const block = toBlockRow(identity, row, content, place);
        totals.addBlock(block, content.toolUse?.facts.tool_kind);
        sink.addBlock(block);
      }
      if (response !== undefined) observeBlock(response, content);
      const { tool_use_id: id, toolUse } = content;
      if (record.type !== 'assistant' || toolUse === undefined || (isUsageOnly && !toolUse.countsSearches)) continue;
      if (id !== null) message.toolUseIds.push(id);
      const responseKey = response?.key ?? toResponseKey(record, sessionId, place.lineNumber);
      const isSubagent = isOfSubagent(row);
      const { lineNumber } = place;
      toolCalls.addUse(id, toolUse, {
        index,
        record,
        messageId: row.id,
        position,
        responseKey,
        isSubagent,
        lineNumber,
      });
    }
    toolCalls.addResults(record.blocks);
  };

  const addLine = (message: OpenMessage, record: MessageRecord): void => {
    const { timestamp: earlier, model } = message.row;
    if (model === null && message.response !== undefined) message.response.isSynthetic = record.isSynthetic;
    mergeLine(message.row, record, ++message.lineCount);
    const { timestamp } = message.row;
    if (timestamp === null || timestamp === earlier) return;
    activeTime.move(earlier === null ? undefined : Date.parse(earlier), Date.parse(timestamp));
  };

  /** A copy of a line without a message id is a message of its own, but not another response. */
  const finishCopy = (message: OpenMessage, position: number): void => {
    const { response } = message;
    if (response !== undefined) setUsageColumns(message.row, response, priceResponse(response, prices));
    toolCalls.settleMessage(position, message.toolUseIds, toCallFacts(message));
    message.response = undefined;
  };

  /** Adds a message to the window and moves what progress lines said about its response to it. */
  const holdMessage = (message: OpenMessage, { groupKey, item, isLate }: Grouping): number => {
    const isCopy = item?.message !== undefined;
    const progress = isCopy ? undefined : item?.progress;
    if (item !== undefined && !isCopy) {
      item.groupKey = null;
      item.progress = undefined;
    }
    return window.hold({ groupKey: isCopy || isLate ? null : groupKey, message, progress }).position;
  };

  const addAssistantLine = (record: MessageRecord, place: LinePlace): void => {
    const isResponse = record.responseId !== null || record.usage !== undefined;
    const named = isResponse ? window.find(record, place.lineNumber) : UNGROUPED;
    const grouping = record.group === undefined ? named : window.findGroup(record.group);
    const { item, isLate } = grouping;
    const original = item?.message;
    if (original !== undefined && (record.responseId !== null || record.group !== undefined)) {
      addLine(original, record);
      if (original.response !== undefined) applyUsage(original.response, record);
      addBlocks(original, item?.position ?? 0, record, place);
      return;
    }
    const message = beginMessage(record, place);
    if (isLate) options.onLate();
    else message.response = original?.response ?? toMessageResponse(record, message.row);
    const position = holdMessage(message, grouping);
    if (message.response !== undefined) applyUsage(message.response, record);
    addBlocks(message, position, record, place);
    if (original !== undefined) finishCopy(message, position);
  };

  /** Takes in the usage of a group's messages, and the name of their response. */
  const nameResponse = (item: HeldItem, message: OpenMessage, record: UsageRecord, place: LinePlace): void => {
    const { item: known, groupKey, isLate } = window.find(record, place.lineNumber);
    const { row, response } = message;
    message.isUnnamed = false;
    row.provider_message_id ??= record.responseId;
    row.request_id ??= record.requestId;
    row.model = toKnownModel(row.model, record.model);
    row.stop_reason = record.stopReason ?? row.stop_reason;
    if (response === undefined) return;
    response.key = toResponseKey(record, sessionId, place.lineNumber);
    response.isMarkedCopy ||= record.isMarkedCopy;
    applyUsage(response, record);
    if (isLate || known?.message !== undefined) {
      window.rename(item, null);
      finishCopy(message, item.position);
      return;
    }
    if (known !== undefined) {
      item.progress = known.progress;
      known.progress = undefined;
      window.rename(known, null);
    }
    window.rename(item, groupKey);
    toolCalls.settleMessage(item.position, message.toolUseIds, toCallFacts(message));
  };

  return {
    addMessage(record, place) {
      if (record.type === 'assistant') {
        addAssistantLine(record, place);
        return;
      }
      const message = beginMessage(record, place);
      const { position } = window.hold({ groupKey: null, message, progress: undefined });
      addBlocks(message, position, record, place);
    },
    addUsage(record, place) {
      const grouped = record.group === undefined ? undefined : window.findGroup(record.group).item;
      if (grouped?.message !== undefined) {
        nameResponse(grouped, grouped.message, record, place);
        return;
      }
      const { item, groupKey, isLate } = window.find(record, place.lineNumber);
      if (isLate) {
        options.onLate();
        return;
      }
      const progress = item?.progress ?? toUsageResponse(record, sessionId, place.lineNumber);
      if (item !== undefined) item.progress = progress;
      else window.hold({ groupKey, message: undefined, progress });
      progress.facts.stop_reason = record.stopReason ?? progress.facts.stop_reason;
      progress.facts.model = toKnownModel(progress.facts.model, record.model);
      progress.facts.timestamp ??= toIsoTimestamp(record.timestampMs);
      observeUsage(progress, record, usageFrom);
      for (const block of record.blocks) observeBlock(progress, block);
    },
    closeOldest: () => toolCalls.closeOldest() || window.closeOldest(),
    awaitsSearches: toolCalls.awaitsSearches,
    toActiveMs: activeTime.toActiveMs,
    closeForCheckpoint: () => window.closeForCheckpoint(options.maxMessagesInCheckpoint),
    isCheckpointSafe: () => !toolCalls.hasLateSearch(),
  };
}

const UNGROUPED: Grouping = { groupKey: null, item: undefined, isLate: false };

function toCallFacts(message: OpenMessage | undefined): CallFacts {
  const { row, response } = message ?? {};
  const isCounted = response !== undefined && isApiResponse(response);
  return { model: row?.model ?? null, response_key: isCounted ? response.key : null };
}

function observeBlock(response: OpenResponse, block: BlockContent): void {
  observeContent(response, block.tool_use_id ?? block.block_type, block.writtenBytes);
}
