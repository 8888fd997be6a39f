import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../lines/json.ts';
import { parserFor } from '../../live/parser-for.ts';
import { parseTranscript } from '../../parse/parse-transcript.ts';
import { assistantLine, toJsonl, toUsageFields, userLine } from '../../testing/transcript-lines.ts';

const init = { type: 'system', subtype: 'init', session_id: 's', tools: [] };
const inAnswer = (block: JsonObject): JsonObject => assistantLine('m1', [block]);

/** The reports of a transcript and a running agent about a line, with code and text, each once. */
async function readIssues(line: JsonObject): Promise<{ stored: string[]; live: string[] }> {
  const lines = toJsonl(init, { session_id: 's', ...line });
  const { errors, warnings, notices } = await parseTranscript('s', lines);
  const events = parserFor('claude', { now: () => 0 })?.push(lines) ?? [];
  return {
    stored: [...errors, ...warnings, ...notices].map(({ code, error }) => `${code}: ${error}`),
    live: events.flatMap((event) =>
      event.type === 'warning' ? `${event.warning.code}: ${event.warning.message}` : [],
    ),
  };
}

describe('a required field that is missing', () => {
  it.each<[JsonObject, string[]]>([
    [{ type: 'assistant' }, ['message']],
    [{ type: 'user', message: null }, ['message']],
    [{ type: 'assistant', message: { role: 'assistant' } }, ['message.content']],
    [inAnswer({ type: 'tool_use', input: {} }), ['tool_use.name', 'tool_use.id']],
    [inAnswer({ type: 'tool_use', id: 't1', name: 'Read' }), ['tool_use.input']],
    [inAnswer({ type: 'text' }), ['text.text']],
    [inAnswer({ type: 'text', text: { no: 'text' } }), ['text.text']],
    [inAnswer({ type: 'thinking', signature: 'abc' }), ['thinking.thinking']],
    [userLine([{ type: 'tool_result', content: 'x' }]), ['tool_result.tool_use_id']],
    [{ type: 'result', is_error: false, result: 'Done' }, ['subtype']],
    [{ type: 'message' }, ['role', 'content']],
    [{ type: 'tool_use' }, ['tool_use.name', 'tool_use.id', 'tool_use.input']],
    [{ type: 'tool_result' }, ['output', 'tool_result.tool_use_id']],
  ])('is a warning with its name, stored and live: %j', async (line, names) => {
    const expected = names.map((name) => `missing_field: Missing field ${name}`);
    expect(await readIssues(line)).toEqual({ stored: expected, live: expected });
  });

  it.each<JsonObject>([
    assistantLine('m1', []),
    assistantLine('m1', ''),
    { type: 'assistant', message: 'bare' },
    { type: 'user', content: 'beside' },
    { type: 'system', subtype: 'compact_boundary' },
    userLine([{ type: 'tool_result', tool_use_id: 't1' }]),
    inAnswer({ type: 'thinking', thinking: '', signature: 'abc' }),
    { type: 'tool_result', tool_id: 't1', error: 'gone' },
    { type: 'result', key: 'v2:a', agentId: 'b', result: {} },
    { type: 'message', role: 'user', content: '' },
  ])('is none in %j', async (line) => {
    expect(await readIssues(line)).toEqual({ stored: [], live: [] });
  });

  it('gives its default', async () => {
    const { contentBlocks, messages } = await parseTranscript(
      's',
      toJsonl({ type: 'assistant' }, inAnswer({ type: 'tool_use' }), inAnswer({ type: 'text' }), { type: 'tool_use' }),
    );
    expect(messages.map(({ message_type }) => message_type)).toEqual(['assistant', 'assistant', 'assistant']);
    expect(contentBlocks).toMatchObject([
      { block_type: 'tool_use', tool_name: null, tool_use_id: null, tool_input: {} },
      { block_type: 'text', content_text: '' },
      { block_type: 'tool_use', tool_name: null, tool_use_id: null, tool_input: {} },
    ]);
  });

  it('gives its default in live events', () => {
    const events = parserFor('claude', { now: () => 0 })?.push(toJsonl(init, inAnswer({ type: 'tool_use' }))) ?? [];
    expect(events.at(-1)).toMatchObject({ type: 'tool-start', toolId: '', toolName: '' });
  });
});

describe('usage of a wrong shape', () => {
  it.each<[JsonObject, string]>([
    [assistantLine('m1', 'x', { usage: [1, 2] }), 'usage'],
    [assistantLine('m1', 'x', { usage: 'x' }), 'usage'],
    [assistantLine('m1', 'x', { usage: { ...toUsageFields(1, 2), server_tool_use: 3 } }), 'server_tool_use'],
    [assistantLine('m1', 'x', { usage: { ...toUsageFields(1, 2), iterations: 'x' } }), 'iterations'],
    [assistantLine('m1', 'x', { usage: { ...toUsageFields(1, 2), iterations: [4] } }), 'iterations'],
    [assistantLine('m1', 'x', { usage: toUsageFields(1, 2), pausedResponses: 'x' }), 'pausedResponses'],
    [{ type: 'result', subtype: 'success', usage: [3] }, 'usage'],
    [{ type: 'result', subtype: 'success', total_cost_usd: 1, modelUsage: 'x' }, 'modelUsage'],
  ])('is an issue of its line, stored and live: %j', async (line, field) => {
    const expected = [`invalid_usage: Usage field ${field} is no plausible figure`];
    expect(await readIssues(line)).toEqual({ stored: expected, live: expected });
  });

  it('is an issue of a progress line', async () => {
    const message = { type: 'assistant', message: { id: 'm1', role: 'assistant', content: [], usage: 'x' } };
    const line = { type: 'progress', sessionId: 's', data: { type: 'agent_progress', agentId: 'a1', message } };
    const { warnings } = await parseTranscript('s', toJsonl(line));
    expect(warnings).toMatchObject([{ code: 'invalid_usage', lineNumber: 1 }]);
  });
});
