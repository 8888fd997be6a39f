import { toToolInputSummary } from '../agents/tool-input-summary.ts';
import type { AgentEvent } from './agent-event.ts';
import type { AssistantEvent, ResultEvent, StreamEvent, UserEvent } from './stream-event.ts';
import type { StreamReader } from './stream-reader.ts';
import { roundCost } from './stream-summary.ts';

/** A stream's events in the words of AgentEvent. */
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
