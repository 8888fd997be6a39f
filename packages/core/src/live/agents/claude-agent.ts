import { cutCharacters, readText } from '../../records/fields.ts';
import type { JsonObject } from '../../rows.ts';
import { createClaudeReader } from '../claude/claude-reader.ts';
import { toLineEvent } from '../claude/claude-state.ts';
import type { AssistantEvent, GenericEvent, ResultEvent, StreamEvent, UserEvent } from '../claude/stream-event.ts';
import type { StreamReader } from '../stream-reader.ts';
import { roundCost } from '../stream-summary.ts';
import { toToolInputSummary } from '../tool-input-summary.ts';
import type { AgentEvent } from './agent-event.ts';

/** What a tool gave, told apart from whether it failed. */
export type ReadToolOutput = (content: string, isError: boolean) => { output: string; error: string | null };

const readPlainOutput: ReadToolOutput = (content, isError) => ({ output: content, error: isError ? content : null });

/** Claude Code's events in the words that all agents share; also Amp's, which differ in what a tool's output is. */
export function createClaudeAgentReader(
  now: () => number,
  readToolOutput: ReadToolOutput = readPlainOutput,
): StreamReader<AgentEvent> {
  const reader = createClaudeReader(now);
  let lastCostUsd = 0;

  const toResult = (event: ResultEvent): AgentEvent => {
    const { success, subtype, text, durationMs, costUsd } = event;
    const costDeltaUsd = costUsd === null ? null : Math.max(0, roundCost(costUsd - lastCostUsd));
    lastCostUsd = costUsd ?? lastCostUsd;
    const { tokens, lastResult } = reader.toSummary();
    const error = success ? null : (text ?? lastResult?.error ?? subtype ?? 'error');
    const result = { success, text: success ? text : null, error, durationMs, tokens, costUsd, costDeltaUsd };
    return { ...toLineEvent(event), type: 'result', isComplete: true, ...result };
  };

  const toAgentEvents = (event: StreamEvent): AgentEvent[] => {
    switch (event.type) {
      case 'warning':
      case 'prompt':
        return [event];
      case 'init': {
        const { sessionId, model, tools } = event;
        return [{ ...toLineEvent(event), type: 'session-start', sessionId, model, tools }];
      }
      case 'user':
        return [toUserEvent(event)];
      case 'assistant':
        return toAssistantEvents(event);
      case 'tool_result': {
        const { toolName, toolUseId: toolId, durationMs } = event;
        const { output, error } = readToolOutput(event.content, event.isError);
        const end = { toolName, toolId, toolOutput: output, toolError: error, durationMs };
        return [{ ...toLineEvent(event), type: 'tool-end', ...end }];
      }
      case 'result':
        return [toResult(event)];
      case 'generic':
        return [toGenericEvent(event)];
    }
  };

  return {
    read: (line) => reader.read(line).flatMap(toAgentEvents),
    warn(warning) {
      reader.warn(warning);
      return { type: 'warning', warning };
    },
    finish: () => reader.finish().flatMap(toAgentEvents),
    toSummary: reader.toSummary,
  };
}

function toAssistantEvents(event: AssistantEvent): AgentEvent[] {
  const { uuid, content, thinking, toolUse, isPartial, wasStreamed } = event;
  const line = toLineEvent(event);
  if (toolUse !== undefined) {
    const { id, name, input } = toolUse;
    const toolInput = toToolInputSummary(name, input);
    return [{ ...line, type: 'tool-start', toolName: name, toolId: id, toolInput, input }];
  }
  if (thinking !== undefined) return [{ ...line, type: 'progress', name: 'thinking', text: thinking, isError: false }];
  if (content === undefined) return [];
  if (isPartial) return [{ ...line, type: 'progress', name: 'text', text: content, isError: false }];
  return [{ ...line, type: 'text', text: content, wasStreamed, ...(uuid !== null && { uuid }) }];
}

function toUserEvent(event: UserEvent): AgentEvent {
  const { uuid, content, isCheckpoint } = event;
  const progress = { type: 'progress', name: 'user', text: content, isError: false } as const;
  return { ...toLineEvent(event), ...progress, ...(isCheckpoint && uuid !== null && { checkpoint: uuid }) };
}

/** Fields of bookkeeping lines that say something to people. */
const TELLING_FIELDS = ['summary', 'message', 'description', 'status', 'content', 'hook_name', 'tool_name'] as const;
const MAX_PROGRESS_CHARACTERS = 200;

function toGenericEvent(event: GenericEvent): AgentEvent {
  const { name, isKnown, message } = event;
  const line = toLineEvent(event);
  if (!isKnown) return { ...line, type: 'unknown', name, original: message.original };
  return { ...line, type: 'progress', name, text: toTellingText(message.original), isError: false };
}

function toTellingText(original: JsonObject): string {
  for (const field of TELLING_FIELDS) {
    const text = readText(original[field]);
    if (text !== null) return cutCharacters(text, MAX_PROGRESS_CHARACTERS);
  }
  return '';
}
