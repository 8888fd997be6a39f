import type { JsonObject, JsonValue } from '../lines/json.ts';
import type { Prompt } from '../records/records.ts';
import type { TokenSums, ToolKind } from '../records/rows.ts';
import type { LiveWarning } from './live-line-decoder.ts';
import type { StreamSummary } from './stream-summary.ts';

interface TimedEvent {
  /** Milliseconds since 1970: the line's own time, or when it was received. */
  timestampMs: number;
  /** Something was too long for followers. The transcript has everything. */
  isCut?: true | undefined;
}

/** Facts of the event's line. */
export interface LineEvent extends TimedEvent {
  /** From 1. */
  lineNumber: number;
  /** The line is large and should be shown collapsed. */
  isLarge: boolean;
}

/** An event within a conversation. */
interface MessageEvent extends LineEvent {
  /** The tool use that started the sub-agent that this is from or to. Absent for the main agent. */
  parentToolUseId?: string | undefined;
}

/** The first line of a session, or of another one on the same stream. */
export interface SessionStartEvent extends LineEvent {
  type: 'session-start';
  /** Id of the agent, e.g. `claude-code`. */
  agent: string;
  /** The agent's own id; empty if the line has none. */
  sessionId: string;
  model: string | null;
  tools: string[];
  cwd: string | null;
  version: string | null;
}

export interface ToolStartEvent extends MessageEvent {
  type: 'tool-start';
  toolName: string;
  toolKind: ToolKind;
  /** Empty if the line has none. */
  toolId: string;
  /** In one short line; empty for tools without a summary rule. */
  toolInput: string;
  /** As the agent wrote it. */
  input: JsonValue;
}

export interface ToolEndEvent extends MessageEvent {
  type: 'tool-end';
  /** Null if the tool's start was never seen. */
  toolName: string | null;
  toolId: string;
  /** Texts as they are, media by type and size, anything else as JSON, joined by line feeds. */
  toolOutput: string;
  /** If the tool failed, its output, or the agent's description of the failure. Otherwise null. */
  toolError: string | null;
  /** From the start's line to this one, or null. */
  durationMs: number | null;
  /** The tool's start was not seen within 64 events or 2 seconds. */
  isUnpaired?: true | undefined;
}

export interface TextEvent extends MessageEvent {
  type: 'text';
  /** The complete text. */
  text: string;
  /** The line's id, if it has one. */
  uuid?: string | undefined;
  /**
   * Its pieces were emitted as they came, as `progress` events named `text`. To get every text once, use either the
   * pieces and the texts without `wasStreamed`, or all texts and no pieces.
   */
  wasStreamed: boolean;
}

/** The agent ended a turn. A process may run several turns, so this is not the end of the stream. */
export interface AgentResultEvent extends LineEvent {
  type: 'result';
  isComplete: true;
  success: boolean;
  /** The answer, or null. */
  text: string | null;
  /** The agent's description of the failure, or null. */
  error: string | null;
  durationMs: number | null;
  /** Tokens of the stream so far; see StreamSummary.tokens. */
  tokens: TokenSums;
  /** The agent's own cumulative figure, and its increase since the last one; null if the agent gives none. */
  costUsd: number | null;
  costDeltaUsd: number | null;
}

/** The agent asks the user something. One event for each tool use. */
export interface AgentPromptEvent extends LineEvent {
  type: 'prompt';
  prompt: Prompt;
}

/** Progress within a turn, such as thinking, plans, pieces of text, states, passing errors. */
export interface ProgressEvent extends MessageEvent {
  type: 'progress';
  /** The kind, e.g. `thinking`, `text`, `todo_list`, `user`, `system/status`. */
  name: string;
  /** May be empty. */
  text: string;
  isError: boolean;
  /** The uuid of a user's message that the session can be rewound to. */
  checkpoint?: string | undefined;
}

/** A line of an unknown type. */
export interface UnknownEvent extends LineEvent {
  type: 'unknown';
  name: string;
  original: JsonObject;
}

export interface AgentWarningEvent extends TimedEvent {
  type: 'warning';
  warning: LiveWarning;
}

/** Events of an agent's stream, the same for all agents. */
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

/** The end of the agent's process. */
export interface AgentExit {
  /** Null if a signal ended it. */
  exitCode: number | null;
  /** E.g. `SIGTERM`, or null. */
  signal: string | null;
  /** The end of its stderr; see createTextTail. */
  stderrTail?: string | undefined;
}

export interface StreamOutcome {
  state: 'complete' | 'error';
  success: boolean;
  /** SIGTERM or SIGKILL ended the agent. */
  aborted: boolean;
  /** Null on success. Quotes stderr, never the stream. */
  error: string | null;
  stopReason: string | null;
}

/** The end of a stream. Always its last event. */
export interface CloseEvent extends TimedEvent, StreamOutcome {
  type: 'close';
  /** Absent if unknown. */
  exit?: AgentExit | undefined;
  /** Absent if the stream cannot be read. */
  summary?: StreamSummary | undefined;
}

/** The events of a running agent, on a terminal, to programs, and to followers. */
export type LiveEvent = AgentEvent | CloseEvent;
