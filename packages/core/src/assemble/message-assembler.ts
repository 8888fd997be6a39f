import type { BlockContent, LinePlace, MessageRecord, ResponseRecord, UsageRecord } from '../records/records.ts';
import { toIsoTimestamp } from '../records/timestamps.ts';
import { MAX_REQUESTS_PER_RESPONSE } from '../records/usage.ts';
import { toWorkStep } from '../records/work-step.ts';
import { type ActiveTime, type ActiveTimeState, createActiveTime, createActiveTimeState } from './active-time.ts';
import type { AssemblerOptions, AssemblySink } from './assembly.ts';
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
import type { PriceTable } from './price-table.ts';
import {
  createResponseWindowState,
  type Grouping,
  type HeldItem,
  type OpenMessage,
  ResponseWindow,
  type ResponseWindowState,
} from './response-window.ts';
import {
  type CallFacts,
  createToolCallState,
  type ToolCallSink,
  type ToolCallState,
  ToolCallTracker,
} from './tool-calls.ts';
import type { TranscriptTotals } from './transcript-totals.ts';
import { createTurnState, type EndedTurn, type TurnState, Turns } from './turns.ts';

export interface AssemblerState {
  nextOrdinal: number;
  lastTimeMs: number;
  activeTime: ActiveTimeState;
  window: ResponseWindowState;
  toolCalls: ToolCallState;
  turn: TurnState;
}

export function createAssemblerState(): AssemblerState {
  return {
    nextOrdinal: 0,
    lastTimeMs: 0,
    activeTime: createActiveTimeState(),
    window: createResponseWindowState(),
    toolCalls: createToolCallState(),
    turn: createTurnState(),
  };
}

/**
 * Builds messages from records. All assistant lines that share a `message.id` are one message at the place of the
 * first; every other line is a separate message. Messages stay in a window of the latest ones and emitted, with their
 * API responses, when they leave it. A line that comes even later is a separate message whose usage does not count,
 * because its response has been counted.
 */
export class MessageAssembler {
  readonly #options: AssemblerOptions;
  readonly #totals: TranscriptTotals;
  readonly #sink: AssemblySink;
  readonly #state: AssemblerState;
  readonly #sessionId: string;
  readonly #prices: PriceTable;
  readonly #usageFrom: 'first' | 'final';
  readonly #isUsageOnly: boolean;
  readonly #window: ResponseWindow;
  readonly #toolCalls: ToolCallTracker;
  readonly #activeTime: ActiveTime;
  readonly #turns: Turns;

  constructor(options: AssemblerOptions, totals: TranscriptTotals, sink: AssemblySink, state = createAssemblerState()) {
    this.#options = options;
    this.#totals = totals;
    this.#sink = sink;
    this.#state = state;
    const { sessionId, prices, usageFrom, isUsageOnly = false } = options;
    this.#sessionId = sessionId;
    this.#prices = prices;
    this.#usageFrom = usageFrom;
    this.#isUsageOnly = isUsageOnly;
    this.#window = new ResponseWindow(options, this.#emit, state.window);
    const toolCallSink: ToolCallSink = {
      addCall: (call) => this.#sink.addToolCall(call),
      factsAt: (position) => toCallFacts(this.#window.at(position)?.message),
      isUnnamedAt: (position) => this.#window.at(position)?.message?.isUnnamed === true,
      addSearches: (position, searchCount) => {
        const response = this.#window.at(position)?.message?.response;
        if (response === undefined) {
          this.#options.onLate();
          return;
        }
        response.searchCount += searchCount;
        if (response.searchCount > MAX_REQUESTS_PER_RESPONSE) this.#options.onImplausible('searchCount');
      },
      addStep: (step) => this.#turns.addStep(step),
      addFailure: (step) => this.#turns.addFailure(step),
    };
    this.#toolCalls = new ToolCallTracker(options, toolCallSink, state.toolCalls);
    this.#activeTime = createActiveTime(state.activeTime);
    this.#turns = new Turns(state.turn);
  }

  /** True if tool results may still add searches to a response. */
  awaitsSearches(): boolean {
    return this.#toolCalls.awaitsSearches();
  }

  /** See `ActiveTime`. */
  toActiveMs(): number | null {
    return this.#activeTime.toActiveMs();
  }

  addMessage(record: MessageRecord, place: LinePlace): void {
    if (record.type === 'assistant') {
      this.#addAssistantLine(record, place);
      return;
    }
    const message = this.#beginMessage(record, place);
    const { position } = this.#window.hold({ groupKey: null, message, progress: undefined });
    this.#addBlocks(message, position, record, place);
  }

  /** Takes in a response's usage. Its messages came before, or it has none here. */
  addUsage(record: UsageRecord, place: LinePlace): void {
    const grouped = record.group === undefined ? undefined : this.#window.findGroup(record.group).item;
    if (grouped?.message !== undefined) {
      this.#nameResponse(grouped, grouped.message, record, place);
      return;
    }
    const { item, groupKey, isLate } = this.#window.find(record, place.lineNumber);
    if (isLate) {
      this.#options.onLate();
      return;
    }
    this.#turns.addAnswer();
    const origin = { lineNumber: place.lineNumber, turnLine: this.#turns.line };
    const progress = item?.progress ?? toUsageResponse(record, this.#sessionId, origin);
    if (item !== undefined) item.progress = progress;
    else this.#window.hold({ groupKey, message: undefined, progress });
    progress.facts.stop_reason = record.stopReason ?? progress.facts.stop_reason;
    progress.facts.model = toKnownModel(progress.facts.model, record.model);
    progress.facts.timestamp ??= toIsoTimestamp(record.timestampMs);
    observeUsage(progress, record, this.#usageFrom);
    for (const block of record.blocks) observeBlock(progress, block);
  }

  /** Begins a turn at a prompt's line; returns the one before it, if the agent had answered. */
  beginTurn(lineNumber: number, timestamp: string | null): EndedTurn | undefined {
    return this.#turns.begin(lineNumber, timestamp);
  }

  /** The last turn so far, if the agent has answered. */
  endTurn(): EndedTurn | undefined {
    return this.#turns.end();
  }

  /**
   * Emits what has been open longest (a tool call without its result, or a message). Call it after the last line until
   * it returns false, when nothing is open any more.
   */
  closeOldest(): boolean {
    return this.#toolCalls.closeOldest() || this.#window.closeOldest();
  }

  /**
   * Emits the oldest message unless only `maxMessagesInCheckpoint` are left. Call it until it returns false. The state
   * then holds the last messages, and otherwise only names grow with the transcript.
   */
  closeForCheckpoint(): boolean {
    return this.#window.closeForCheckpoint(this.#options.maxMessagesInCheckpoint);
  }

  /** After that, false if a later line could change a response that was emitted. */
  isCheckpointSafe(): boolean {
    return !this.#toolCalls.hasLateSearch();
  }

  #beginMessage(record: MessageRecord, place: LinePlace): OpenMessage {
    this.#state.lastTimeMs = record.timestampMs ?? this.#state.lastTimeMs;
    const id = this.#isUsageOnly ? '' : this.#options.nextId(this.#state.lastTimeMs);
    const row = toMessageRow({ id, sessionId: this.#sessionId, position: this.#state.nextOrdinal++ }, record, place);
    this.#totals.addMessage(row);
    if (record.timestampMs !== undefined) this.#activeTime.add(record.timestampMs);
    const isUnnamed = record.group !== undefined;
    return { row, response: undefined, blockCount: 0, lineCount: 1, toolUseIds: [], isUnnamed };
  }

  #applyUsage(response: OpenResponse, record: ResponseRecord): void {
    const isFirst = response.usage === undefined;
    observeUsage(response, record, this.#usageFrom);
    if (isFirst && isApiResponse(response) && !response.isSubagent) this.#totals.addAnswer();
  }

  #addBlocks(message: OpenMessage, position: number, record: MessageRecord, place: LinePlace): void {
    const { row, response } = message;
    for (const [index, content] of record.blocks.entries()) {
      if (!this.#isUsageOnly) {
        const identity = {
          id: this.#options.nextId(this.#state.lastTimeMs),
          sessionId: this.#sessionId,
          position: message.blockCount++,
        };
        const block = toBlockRow(identity, row, content, place);
        this.#totals.addBlock(block, content.toolUse?.facts.tool_kind);
        this.#sink.addBlock(block);
      }
      if (response !== undefined) observeBlock(response, content);
      const { tool_use_id: id, toolUse } = content;
      if (record.type !== 'assistant' || toolUse === undefined || (this.#isUsageOnly && !toolUse.countsSearches))
        continue;
      if (id !== null) message.toolUseIds.push(id);
      const responseKey = response?.key ?? toResponseKey(record, this.#sessionId, place.lineNumber);
      const isSubagent = isOfSubagent(row);
      const { lineNumber } = place;
      this.#toolCalls.addUse(id, toolUse, {
        index,
        record,
        messageId: row.id,
        position,
        responseKey,
        isSubagent,
        lineNumber,
        step: this.#isUsageOnly ? 'other' : toWorkStep(toolUse.facts, content.tool_input),
      });
    }
    this.#toolCalls.addResults(record.blocks);
  }

  #addLine(message: OpenMessage, record: MessageRecord): void {
    const { timestamp: earlier, model } = message.row;
    if (model === null && message.response !== undefined) message.response.isSynthetic = record.isSynthetic;
    mergeLine(message.row, record, ++message.lineCount);
    const { timestamp } = message.row;
    if (timestamp === null || timestamp === earlier) return;
    this.#activeTime.move(earlier === null ? undefined : Date.parse(earlier), Date.parse(timestamp));
  }

  /** A copy of a line without a message id is a separate message, but not another response. */
  #finishCopy(message: OpenMessage, position: number): void {
    const { response } = message;
    if (response !== undefined) setUsageColumns(message.row, response, priceResponse(response, this.#prices));
    this.#toolCalls.settleMessage(position, message.toolUseIds, toCallFacts(message));
    message.response = undefined;
  }

  /** Adds a message to the window and moves what progress lines said about its response to it. */
  #holdMessage(message: OpenMessage, { groupKey, item, isLate }: Grouping): number {
    const isCopy = item?.message !== undefined;
    const progress = isCopy ? undefined : item?.progress;
    if (item !== undefined && !isCopy) {
      item.groupKey = null;
      item.progress = undefined;
    }
    return this.#window.hold({ groupKey: isCopy || isLate ? null : groupKey, message, progress }).position;
  }

  #addAssistantLine(record: MessageRecord, place: LinePlace): void {
    this.#turns.addAnswer();
    const isResponse = record.responseId !== null || record.usage !== undefined;
    const named = isResponse ? this.#window.find(record, place.lineNumber) : UNGROUPED;
    const grouping = record.group === undefined ? named : this.#window.findGroup(record.group);
    const { item, isLate } = grouping;
    const original = item?.message;
    if (original !== undefined && (record.responseId !== null || record.group !== undefined)) {
      this.#addLine(original, record);
      if (original.response !== undefined) this.#applyUsage(original.response, record);
      this.#addBlocks(original, item?.position ?? 0, record, place);
      return;
    }
    const message = this.#beginMessage(record, place);
    if (isLate) this.#options.onLate();
    else message.response = original?.response ?? toMessageResponse(record, message.row, this.#turns.line);
    const position = this.#holdMessage(message, grouping);
    if (message.response !== undefined) this.#applyUsage(message.response, record);
    this.#addBlocks(message, position, record, place);
    if (original !== undefined) this.#finishCopy(message, position);
  }

  /** Takes in the usage of a group's messages, and the name of their response. */
  #nameResponse(item: HeldItem, message: OpenMessage, record: UsageRecord, place: LinePlace): void {
    const { item: known, groupKey, isLate } = this.#window.find(record, place.lineNumber);
    const { row, response } = message;
    message.isUnnamed = false;
    row.provider_message_id ??= record.responseId;
    row.request_id ??= record.requestId;
    row.model = toKnownModel(row.model, record.model);
    row.stop_reason = record.stopReason ?? row.stop_reason;
    if (response === undefined) return;
    response.key = toResponseKey(record, this.#sessionId, place.lineNumber);
    response.isMarkedCopy ||= record.isMarkedCopy;
    this.#applyUsage(response, record);
    if (isLate || known?.message !== undefined) {
      this.#window.rename(item, null);
      this.#finishCopy(message, item.position);
      return;
    }
    if (known !== undefined) {
      item.progress = known.progress;
      known.progress = undefined;
      this.#window.rename(known, null);
    }
    this.#window.rename(item, groupKey);
    this.#toolCalls.settleMessage(item.position, message.toolUseIds, toCallFacts(message));
  }

  readonly #emit = (item: HeldItem): void => {
    const { message } = item;
    if (message !== undefined) this.#toolCalls.settleMessage(item.position, message.toolUseIds, toCallFacts(message));
    emitItem(item, { prices: this.#prices, totals: this.#totals, sink: this.#sink, isUsageOnly: this.#isUsageOnly });
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
