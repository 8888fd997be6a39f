import type { LinePlace, MessageRecord, UsageRecord } from '../agents/records.ts';
import type { PriceTable } from '../pricing/price-table.ts';
import type { ApiResponse, ParsedContentBlock, ToolCall, TranscriptMessage } from '../rows.ts';

/** What the caller of the assembler decides. */
export interface AssemblerOptions {
  sessionId: string;
  nextId: (timeMs: number) => string;
  prices: PriceTable;
  usageFrom: 'first' | 'final';
  /** Messages, and responses without one, that later lines can still change; the oldest ones fall out. */
  maxOpenMessages: number;
  /** Tool calls that wait for their results, and results that wait for their calls. */
  maxOpenToolCalls: number;
  /** Only API responses are asked for: no rows of messages, blocks and tool calls. */
  isUsageOnly?: boolean;
  /** Messages that `closeForCheckpoint` leaves open. */
  maxMessagesInCheckpoint: number;
  /** Called for a figure that is beyond its bound and does not count. */
  onImplausible: (name: string) => void;
  /** Called if what the current line says about an API response comes too late to count. */
  onLate: () => void;
  /** Called once, if so many responses were closed that late lines of the first ones would count again. */
  onKeyForgotten: () => void;
}

/** Where the assembler puts what it makes: each row once, final, and nobody changes it afterwards. */
export interface AssemblySink {
  /** In the order of the transcript. */
  addMessage(message: TranscriptMessage): void;
  /** In the order of the transcript; the message may come later than its blocks. */
  addBlock(block: ParsedContentBlock): void;
  addApiResponse(response: ApiResponse): void;
  addToolCall(call: ToolCall): void;
}

export interface MessageAssembler {
  addMessage(record: MessageRecord, place: LinePlace): void;
  /** Takes in what a response used: one of messages that came before, or one that has no message here. */
  addUsage(record: UsageRecord, place: LinePlace): void;
  /**
   * Emits what has been open for longest: a tool call without its result, or a message. To be called after the last
   * line, until it returns false: nothing is open any more.
   */
  closeOldest(): boolean;
  /** Whether results of tools may still add searches to a response. */
  awaitsSearches(): boolean;
  /** See `ActiveTime`. */
  toActiveMs(): number | null;
  /**
   * Emits the oldest message unless only `maxMessagesInCheckpoint` are left. To be called until it returns false: the state
   * then holds the last ones, and nothing else of it grows with the transcript but names.
   */
  closeForCheckpoint(): boolean;
  /** After that: false if a later line could change a response that was emitted. */
  isCheckpointSafe(): boolean;
}
