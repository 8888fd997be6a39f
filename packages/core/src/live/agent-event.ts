import type { Prompt } from '../agents/records.ts';
import type { JsonObject, JsonValue } from '../rows.ts';
import type { LiveWarning } from './live-warning.ts';
import type { LineEvent } from './stream-event.ts';
import type { TokenCounts } from './token-counts.ts';

export interface SessionStartEvent extends LineEvent {
  type: 'session-start';
  /** The agent's own id; empty where the line has none. */
  sessionId: string;
  model: string | null;
  tools: string[];
}

export interface ToolStartEvent extends LineEvent {
  type: 'tool-start';
  toolName: string;
  /** Empty where the line has none. */
  toolId: string;
  /** In one short line; empty for tools that have no rule. */
  toolInput: string;
  /** As the agent wrote it. */
  input: JsonValue;
}

export interface ToolEndEvent extends LineEvent {
  type: 'tool-end';
  /** Null where the tool's start was never seen. */
  toolName: string | null;
  toolId: string;
  toolOutput: string;
  /** The output, or the agent's word for the failure, where the tool failed; else null. */
  toolError: string | null;
  /** From the start's line to this one, or null. */
  durationMs: number | null;
  /** The tool's start was not seen within 64 events or 2 seconds. */
  isUnpaired?: boolean;
}

export interface TextEvent extends LineEvent {
  type: 'text';
  /** A whole text. */
  text: string;
  /** Of the line, where it has one. */
  uuid?: string;
  /** Its pieces were given as they came, as `progress` named `text`. */
  wasStreamed: boolean;
}

/** The agent ended a turn. A process may take several; the stream's end is its own matter. */
export interface AgentResultEvent extends LineEvent {
  type: 'result';
  isComplete: true;
  success: boolean;
  /** The answer, or null. */
  text: string | null;
  /** The agent's word for the failure, or null. */
  error: string | null;
  durationMs: number | null;
  /** Of the stream so far; see StreamSummary.tokens. */
  tokens: TokenCounts;
  /** Cumulative, the agent's own figure, and what it grew by since the last; null where the agent gives none. */
  costUsd: number | null;
  costDeltaUsd: number | null;
}

/** The agent asks something of the user. */
export interface AgentPromptEvent extends LineEvent {
  type: 'prompt';
  prompt: Prompt;
}

/** What happens meanwhile: thoughts, plans, pieces of text, states, passing errors. */
export interface ProgressEvent extends LineEvent {
  type: 'progress';
  /** What kind, e.g. `thinking`, `text`, `todo_list`, `user`, `system/status`. */
  name: string;
  /** May be empty. */
  text: string;
  isError: boolean;
  /** Of a user's message that the session can be rewound to: its uuid. */
  checkpoint?: string;
}

/** A line of a type unknown here. */
export interface UnknownEvent extends LineEvent {
  type: 'unknown';
  name: string;
  original: JsonObject;
}

export interface AgentWarningEvent {
  type: 'warning';
  warning: LiveWarning;
}

/** What a stream says, whichever agent wrote it. */
export type AgentEvent =
  | SessionStartEvent
  | ToolStartEvent
  | ToolEndEvent
  | TextEvent
  | AgentResultEvent
  | AgentPromptEvent
  | ProgressEvent
  | UnknownEvent
  | AgentWarningEvent;
