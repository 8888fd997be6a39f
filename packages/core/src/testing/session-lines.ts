import fc from 'fast-check';
import type { JsonObject } from '../lines/json.ts';
import { anyMetadata, emptyLine, faultyLine, messageLine } from './any-lines.ts';
import { assistantLine, toUsageFields, userLine } from './transcript-lines.ts';

const at = (second: number): JsonObject => ({
  timestamp: new Date(Date.UTC(2025, 5, 1) + second * 1000).toISOString(),
});

/** Lines of a session whose responses, tool calls, results and copies come in any order. */
const orderlyLine = fc
  .record({
    kind: fc.constantFrom(
      'text',
      'use',
      'search',
      'result',
      'searchResult',
      'prompt',
      'noId',
      'copy',
      'progress',
      'pr',
    ),
    id: fc.nat(6),
    tool: fc.nat(4),
    second: fc.nat(50),
    tokens: fc.nat(50),
    stop: fc.constantFrom(null, 'end_turn'),
  })
  .map(({ kind, id, tool, second, tokens, stop }) => {
    const usage = { usage: toUsageFields(1, tokens, 2, 3), stop_reason: stop };
    const uuid = { ...at(second), uuid: `u${second}` };
    const messageId = id < 3 ? `m${id}` : `msg_0123456789abcdefghi${id}`;
    const requestId = { requestId: `r${tokens % 2}` };
    switch (kind) {
      case 'use':
      case 'search': {
        const name = kind === 'use' ? 'Task' : 'WebSearch';
        const use = { type: 'tool_use', id: `toolu_0123456789abcdef${tool}`, name, input: { query: 'x' } };
        return assistantLine(messageId, [use], usage, { ...uuid, ...requestId });
      }
      case 'result':
      case 'searchResult': {
        const result = { type: 'tool_result', tool_use_id: `toolu_0123456789abcdef${tool}`, content: 'done' };
        const toolUseResult = kind === 'result' ? { agentId: `a${tool}` } : { searchCount: 2 };
        return { ...userLine([result], uuid), toolUseResult };
      }
      case 'prompt':
        return userLine(`prompt ${second}`, uuid);
      case 'noId':
        return assistantLine(null, 'x', usage, uuid);
      case 'copy':
        return assistantLine(messageId, 'x', usage, { ...uuid, forkedFrom: { sessionId: 'other' } });
      case 'progress': {
        const message = { id: messageId, role: 'assistant', model: 'claude-x', content: [], usage: usage.usage };
        const data = { type: 'agent_progress', agentId: 'a1', message: { type: 'assistant', message, ...at(second) } };
        return { type: 'progress', data, ...uuid };
      }
      case 'pr':
        return { type: 'pr-link', prUrl: `https://example.com/${id}`, prNumber: id, ...uuid };
      default:
        return assistantLine(messageId, [{ type: 'text', text: 'some text' }], usage, { ...uuid, ...requestId });
    }
  })
  .map((line) => JSON.stringify(line));

/** The same, with some other lines mixed in. */
export const sessionLine = fc.oneof(
  { arbitrary: orderlyLine, weight: 6 },
  messageLine,
  anyMetadata.map((line) => JSON.stringify(line)),
  emptyLine,
  faultyLine,
);
