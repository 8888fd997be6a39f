import type { Prompt } from '../agents/records.ts';
import type { JsonObject, JsonValue } from '../rows.ts';
import type { LiveWarning } from './live-line-decoder.ts';
import type { TokenCounts } from './stream-summary.ts';

/** What every event says of the line that it comes from. */
export interface LineEvent {
  /** Milliseconds since 1970: the line's own time, or when it was received. */
  timestampMs: number;
  /** From 1. */
  lineNumber: number;
  /** The line is a large one, to be shown folded. */
  isLarge: boolean;
}

export interface ToolUse {
  id: string;
  name: string;
  input: JsonValue;
  /** In one short line, if the agent's reader says it. */
  summary?: string;
}

/** The first line of a session, or of another one on the same stream. */
export interface InitEvent extends LineEvent {
  type: 'init';
  sessionId: string;
  tools: string[];
  model: string | null;
  cwd: string | null;
  version: string | null;
}

export interface UserEvent extends LineEvent {
  type: 'user';
  uuid: string | null;
  content: string;
  /** The tool use of the sub-agent that is spoken to, or null. */
  parentToolUseId: string | null;
  /** The session can be rewound to this message. */
  isCheckpoint: boolean;
}

/** One block of a response: a text, a thought or a tool use. */
export interface AssistantEvent extends LineEvent {
  type: 'assistant';
  uuid: string | null;
  messageId: string | null;
  parentToolUseId: string | null;
  content?: string;
  thinking?: string;
  toolUse?: ToolUse;
  /** Tokens of the whole response so far, on the first event of a line. They come again on other lines: do not sum them. */
  tokens?: TokenCounts;
  /**
   * A piece of a text as it grows; the whole text comes again, with `wasStreamed`. Either all events but the partial
   * ones, or all but the streamed ones, give every text once.
   */
  isPartial: boolean;
  wasStreamed: boolean;
}

export interface ToolResultEvent extends LineEvent {
  type: 'tool_result';
  toolUseId: string;
  /** Null if the tool use was never seen. */
  toolName: string | null;
  /** Texts as they are, media by type and size, anything else as JSON, joined by line feeds. */
  content: string;
  isError: boolean;
  /** What went wrong: the agent's word for it, or the content. Null if nothing did. */
  error: string | null;
  /** From the tool use's line to the result's, or null. */
  durationMs: number | null;
  parentToolUseId: string | null;
  /** Its tool use was not seen within 64 events or 2 seconds. */
  isUnpaired: boolean;
}

/** The end of a turn. */
export interface ResultEvent extends LineEvent {
  type: 'result';
  success: boolean;
  /** `success`, `error_max_turns`, … or null. */
  subtype: string | null;
  /** The answer, or the error's text. */
  text: string | null;
  durationMs: number | null;
  /** As the line tells: the main loop of this turn alone. Null where it does not. */
  tokens: TokenCounts | null;
  /** Cumulative; never to be summed. */
  costUsd: number | null;
}

/** The agent asks something. One per tool use. */
export interface PromptEvent extends LineEvent {
  type: 'prompt';
  prompt: Prompt;
}

/** A line that is none of the above: `isKnown` if it is of a type that the agent is known to write. */
export interface GenericEvent extends LineEvent {
  type: 'generic';
  /** `type`, or `type/subtype`. */
  name: string;
  isKnown: boolean;
  /** What it says to people; may be empty. */
  text: string;
  isError: boolean;
  message: GenericMessage;
}

/** All that the line says. */
export interface GenericMessage {
  type: 'generic';
  original: JsonObject;
}

export interface WarningEvent {
  type: 'warning';
  warning: LiveWarning;
}

export type StreamEvent =
  | InitEvent
  | UserEvent
  | AssistantEvent
  | ToolResultEvent
  | ResultEvent
  | PromptEvent
  | GenericEvent
  | WarningEvent;
