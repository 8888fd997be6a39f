import type { ApiResponse, ParsedContentBlock, ToolCall, TranscriptMessage } from '../records/rows.ts';
import type { PriceTable } from './price-table.ts';

/** Choices of the assembler's caller. */
export interface AssemblerOptions {
  sessionId: string;
  nextId: (timeMs: number) => string;
  prices: PriceTable;
  usageFrom: 'first' | 'final';
  /** Messages, and responses without one, that later lines can still change; the oldest are closed. */
  maxOpenMessages: number;
  /** Tool calls waiting for their results, and results waiting for their calls. */
  maxOpenToolCalls: number;
  /** Only API responses are needed, and no rows of messages, blocks and tool calls. */
  isUsageOnly?: boolean;
  /** Messages that `closeForCheckpoint` leaves open. */
  maxMessagesInCheckpoint: number;
  /** Called for a figure outside its bounds, which is not counted. */
  onImplausible: (name: string) => void;
  /** Called if the current line says something about an API response too late to count. */
  onLate: () => void;
  /**
   * Called once, when this many responses have been closed that late lines of the first ones would be counted again.
   */
  onKeyForgotten: () => void;
}

/** Receives the assembler's rows, each once, final, and never changed afterwards. */
export interface AssemblySink {
  /** In the order of the transcript. */
  addMessage(message: TranscriptMessage): void;
  /** In the order of the transcript; the message may come later than its blocks. */
  addBlock(block: ParsedContentBlock): void;
  addApiResponse(response: ApiResponse): void;
  addToolCall(call: ToolCall): void;
}
