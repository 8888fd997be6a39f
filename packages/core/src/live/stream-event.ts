import type { JsonObject, JsonValue } from '../lines/json.ts';
import type { Prompt } from '../records/records.ts';
import type { LiveWarning } from './live-line-decoder.ts';
import type { TokenCounts } from './stream-summary.ts';

/** What every event says about its line. */
export interface LineEvent {
  /** Milliseconds since 1970: the line's own time, or when it was received. */
  timestampMs: number;
  /** From 1. */
  lineNumber: number;
  /** The line is large and should be shown collapsed. */
  isLarge: boolean;
}

export interface ToolUse {
  id: string;
  name: string;
  input: JsonValue;
  /** In one short line, if the agent's reader provides it. */
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
  /** The tool use that started the sub-agent that this message is to, or null. */
  parentToolUseId: string | null;
  /** The session can be rewound to this message. */
  isCheckpoint: boolean;
}

/** One block of a response: text, thinking or a tool use. */
export interface AssistantEvent extends LineEvent {
  type: 'assistant';
  uuid: string | null;
  messageId: string | null;
  parentToolUseId: string | null;
  content?: string;
  thinking?: string;
  toolUse?: ToolUse;
  /** Tokens of the whole response so far, on the first event of a line. Other lines repeat them: do not sum them. */
  tokens?: TokenCounts;
  /**
   * A piece of a growing text; the whole text follows, with `wasStreamed`. To get every text once, use either all
   * events except the partial ones, or all except the streamed ones.
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
  /** The error: the agent's description, or the content. Null if there is none. */
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
  /** As stated on the line, which covers only the main loop of this turn. Null if the line does not state them. */
  tokens: TokenCounts | null;
  /** Cumulative; never to be summed. */
  costUsd: number | null;
}

/** The agent asks something. One event for each tool use. */
export interface PromptEvent extends LineEvent {
  type: 'prompt';
  prompt: Prompt;
}

/** Any other line. `isKnown`: the agent is known to write this type. */
export interface GenericEvent extends LineEvent {
  type: 'generic';
  /** `type`, or `type/subtype`. */
  name: string;
  isKnown: boolean;
  /** Text for people; may be empty. */
  text: string;
  isError: boolean;
  message: GenericMessage;
}

/** Everything that the line says. */
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
