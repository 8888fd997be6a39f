import type { LiveEvent } from '@recount/contract';
import { type AgentEvent, parserFor } from '@recount/core/live';

/** The content of an event, independent of how it was delivered. */
function toWords(event: AgentEvent): unknown[] {
  switch (event.type) {
    case 'session-start':
      return ['stream:init', event.sessionId, event.tools, event.model];
    case 'text':
      return ['stream:chunk', event.text, false, event.wasStreamed];
    case 'progress':
      if (event.name === 'text') return ['stream:chunk', event.text, true, false];
      return ['stream:progress', event.name, event.text, event.isError];
    case 'unknown':
      return ['stream:progress', event.name, '', false];
    case 'tool-start':
      return ['stream:tool', event.toolId, event.toolName, event.input, event.toolInput];
    case 'tool-end':
      return ['stream:tool', event.toolId, event.toolName, event.toolOutput, event.toolError];
    case 'prompt':
      return ['stream:prompt', event.prompt];
    case 'result':
      return ['stream:result', event.success, event.text, event.error, event.tokens, event.costUsd];
    case 'warning':
      return ['stream:warning', event.warning.code, event.warning.lineNumber];
    default:
      throw new Error('An event of a new type');
  }
}

/** The same for an event as a reader gets it. */
export function toReaderWords({ event, data }: LiveEvent): unknown[] {
  switch (event) {
    case 'stream:init':
      return [event, data.agentSessionId, data.tools, data.model];
    case 'stream:chunk':
      return [event, data.content, data.isPartial, data.wasStreamed];
    case 'stream:progress':
      return [event, data.name, data.text, data.isError];
    case 'stream:tool': {
      const { toolUse: use, toolResult: result } = data;
      return use === undefined
        ? [event, result?.toolUseId, result?.toolName, result?.output, result?.error]
        : [event, use.id, use.name, use.input, use.summary];
    }
    case 'stream:prompt':
      return [event, data.prompt];
    case 'stream:result':
      return [event, data.success, data.text, data.error, data.totalTokens, data.costUsd];
    case 'stream:warning':
      return [event, data.code, data.lineNumber];
    case 'stream:end':
      return [event, data.success];
  }
}

/** The events that the library parses from a whole stream. */
export function parseToWords(command: string, output: string): unknown[][] {
  const parser = parserFor(command, { now: () => 0 });
  if (parser === undefined) throw new Error(`No parser for ${command}`);
  return [...parser.push(output), ...parser.finish()].map(toWords);
}
