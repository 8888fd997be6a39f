import { toToolInputSummary } from '../agents/tool-input-summary.ts';
import type { JsonObject, JsonValue } from '../lines/json.ts';
import type { Prompt } from '../records/records.ts';
import type { LiveWarning } from './live-line-decoder.ts';
import type { AssistantEvent, LineEvent, ResultEvent, StreamEvent, UserEvent } from './stream-event.ts';
import type { StreamReader } from './stream-reader.ts';
import { roundCost, type TokenCounts } from './stream-summary.ts';

export interface SessionStartEvent extends LineEvent {
  type: 'session-start';
  /** The agent's own id; empty if the line has none. */
  sessionId: string;
  model: string | null;
  tools: string[];
}

export interface ToolStartEvent extends LineEvent {
  type: 'tool-start';
  toolName: string;
  /** Empty if the line has none. */
  toolId: string;
  /** In one short line; empty for tools without a summary rule. */
  toolInput: string;
  /** As the agent wrote it. */
  input: JsonValue;
}

export interface ToolEndEvent extends LineEvent {
  type: 'tool-end';
  /** Null if the tool's start was never seen. */
  toolName: string | null;
  toolId: string;
  toolOutput: string;
  /** If the tool failed: its output, or the agent's description of the failure. Otherwise null. */
  toolError: string | null;
  /** From the start's line to this one, or null. */
  durationMs: number | null;
  /** The tool's start was not seen within 64 events or 2 seconds. */
  isUnpaired?: boolean;
}

export interface TextEvent extends LineEvent {
  type: 'text';
  /** The complete text. */
  text: string;
  /** The line's id, if it has one. */
  uuid?: string;
  /** Its pieces were emitted as they came, as `progress` events named `text`. */
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
  tokens: TokenCounts;
  /** The agent's own cumulative figure, and its increase since the last one; null if the agent gives none. */
  costUsd: number | null;
  costDeltaUsd: number | null;
}

/** The agent asks the user something. */
export interface AgentPromptEvent extends LineEvent {
  type: 'prompt';
  prompt: Prompt;
}

/** Progress within a turn: thinking, plans, pieces of text, states, passing errors. */
export interface ProgressEvent extends LineEvent {
  type: 'progress';
  /** What kind, e.g. `thinking`, `text`, `todo_list`, `user`, `system/status`. */
  name: string;
  /** May be empty. */
  text: string;
  isError: boolean;
  /** The uuid of a user's message that the session can be rewound to. */
  checkpoint?: string;
}

/** A line of an unknown type. */
export interface UnknownEvent extends LineEvent {
  type: 'unknown';
  name: string;
  original: JsonObject;
}

export interface AgentWarningEvent {
  type: 'warning';
  warning: LiveWarning;
}

/** Events of a stream, the same for all agents. */
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

/** Converts a stream's events to AgentEvents. */
export function toAgentReader(reader: StreamReader<StreamEvent>): StreamReader<AgentEvent> {
  let lastCostUsd = 0;

  const toResult = ({ type, subtype, ...event }: ResultEvent): AgentEvent => {
    const { success, text, costUsd } = event;
    const costDeltaUsd = costUsd === null ? null : Math.max(0, roundCost(costUsd - lastCostUsd));
    lastCostUsd = costUsd ?? lastCostUsd;
    const { tokens, lastResult } = reader.toSummary();
    const error = success ? null : (text ?? lastResult?.error ?? subtype ?? 'error');
    return { ...event, type, isComplete: true, text: success ? text : null, error, tokens, costDeltaUsd };
  };

  const toAgentEvents = (event: StreamEvent): AgentEvent[] => {
    switch (event.type) {
      case 'warning':
      case 'prompt':
        return [event];
      case 'init': {
        const { cwd: _cwd, version: _version, ...init } = event;
        return [{ ...init, type: 'session-start' }];
      }
      case 'user':
        return [toUserEvent(event)];
      case 'assistant':
        return toAssistantEvents(event);
      case 'tool_result': {
        const { timestampMs, lineNumber, isLarge, toolName, durationMs, isUnpaired } = event;
        const { toolUseId: toolId, content: toolOutput, error: toolError } = event;
        const end = { timestampMs, lineNumber, isLarge, toolName, toolId, toolOutput, toolError, durationMs };
        return [{ type: 'tool-end', ...end, ...(isUnpaired && { isUnpaired }) }];
      }
      case 'result':
        return [toResult(event)];
      case 'generic': {
        const { message, isKnown, text, isError, ...line } = event;
        if (!isKnown) return [{ ...line, type: 'unknown', original: message.original }];
        return [{ ...line, type: 'progress', text, isError }];
      }
    }
  };

  return {
    read(line) {
      const events: AgentEvent[] = [];
      for (const event of reader.read(line)) for (const agentEvent of toAgentEvents(event)) events.push(agentEvent);
      return events;
    },
    warn(warning) {
      reader.warn(warning);
      return { type: 'warning', warning };
    },
    poll: () => reader.poll().flatMap(toAgentEvents),
    finish: () => reader.finish().flatMap(toAgentEvents),
    toSummary: reader.toSummary,
  };
}

function toAssistantEvents(event: AssistantEvent): AgentEvent[] {
  const { uuid, content, thinking, toolUse, isPartial, wasStreamed, timestampMs, lineNumber, isLarge } = event;
  const line = { timestampMs, lineNumber, isLarge };
  if (toolUse !== undefined) {
    const { id, name, input } = toolUse;
    const toolInput = toolUse.summary ?? toToolInputSummary(name, input);
    return [{ ...line, type: 'tool-start', toolName: name, toolId: id, toolInput, input }];
  }
  if (thinking !== undefined) return [{ ...line, type: 'progress', name: 'thinking', text: thinking, isError: false }];
  if (content === undefined) return [];
  if (isPartial) return [{ ...line, type: 'progress', name: 'text', text: content, isError: false }];
  return [{ ...line, type: 'text', text: content, wasStreamed, ...(uuid !== null && { uuid }) }];
}

function toUserEvent({ timestampMs, lineNumber, isLarge, uuid, content, isCheckpoint }: UserEvent): AgentEvent {
  const line = { timestampMs, lineNumber, isLarge };
  const progress = { type: 'progress', name: 'user', text: content, isError: false } as const;
  return { ...line, ...progress, ...(isCheckpoint && uuid !== null && { checkpoint: uuid }) };
}
