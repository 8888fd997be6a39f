import type { Readable } from 'node:stream';
import type { LiveEvent } from '@recount/contract';
import type { AgentEvent, LiveWarning } from '@recount/core/live';

/**
 * Parses a session's events as the API sends them (`text/event-stream`). Skips pieces of text and heartbeats; an
 * incomplete event at the end of the answer is dropped.
 */
export async function* readLiveEvents(answer: Readable): AsyncGenerator<LiveEvent> {
  let rest = '';
  for await (const chunk of answer.setEncoding('utf8')) {
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => splitField(line)));
      const data = fields.get('data');
      if (data === undefined) continue;
      yield { id: Number(fields.get('id')), event: fields.get('event'), data: JSON.parse(data) } as LiveEvent;
    }
  }
}

function splitField(line: string): [name: string, value: string] {
  const end = line.indexOf(': ');
  return [line.slice(0, end), line.slice(end + 2)];
}

/** Converts a reader's event to the agent's, for the lines of `recount run`; undefined if those do not show it. */
export function toAgentEvent({ event, data }: LiveEvent): AgentEvent | undefined {
  const line = { timestampMs: Date.parse(data.timestamp), lineNumber: 0, isLarge: data.isLarge ?? false };
  switch (event) {
    case 'stream:init': {
      const { agentSessionId: sessionId, model, tools } = data;
      return { type: 'session-start', ...line, sessionId, model, tools };
    }
    case 'stream:chunk':
      return data.isPartial ? undefined : { type: 'text', ...line, text: data.content, wasStreamed: data.wasStreamed };
    case 'stream:tool': {
      const { toolUse, toolResult } = data;
      if (toolUse !== undefined) {
        const { id: toolId, name: toolName, summary: toolInput } = toolUse;
        return { type: 'tool-start', ...line, toolId, toolName, toolInput, input: null };
      }
      if (toolResult === undefined) return undefined;
      const { toolUseId: toolId, toolName, output: toolOutput, error, durationMs, isError, isUnpaired } = toolResult;
      const toolError = isError ? (error ?? toolOutput) : null;
      const end = { toolId, toolName, toolOutput, toolError, durationMs, ...(isUnpaired && { isUnpaired }) };
      return { type: 'tool-end', ...line, ...end };
    }
    case 'stream:prompt':
      return { type: 'prompt', ...line, prompt: data.prompt as Extract<AgentEvent, { type: 'prompt' }>['prompt'] };
    case 'stream:progress':
      return { type: 'progress', ...line, name: data.name, text: data.text, isError: data.isError };
    case 'stream:warning': {
      const { code, message, lineNumber } = data;
      return { type: 'warning', warning: { code, message, lineNumber } as LiveWarning };
    }
    case 'stream:result': {
      const { success, text, error, durationMs, totalTokens: tokens, costUsd } = data;
      const result = {
        isComplete: true,
        success,
        text,
        error,
        durationMs,
        tokens,
        costUsd,
        costDeltaUsd: null,
      } as const;
      return { type: 'result', ...line, ...result };
    }
    case 'stream:end':
      return undefined;
  }
}
