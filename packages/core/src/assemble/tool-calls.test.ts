import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../lines/json.ts';
import type { ParseOptions } from '../parse/parse-options.ts';
import { parseTranscript } from '../parse/parse-transcript.ts';
import { assistantLine, only, resultLine, toJsonl, toUsageFields, userLine } from '../testing/transcript-lines.ts';

describe('tool calls', () => {
  const messageId = 'msg_000000000000000000000001';
  const toolId = (name: string) => `toolu_${name.padStart(20, '0')}`;
  const at = (second: number): JsonObject => ({
    timestamp: new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString(),
  });
  const use = (name: string, input: JsonValue = {}, id: string | null = toolId('1')): JsonObject => ({
    type: 'tool_use',
    id,
    name,
    input,
  });
  const call = (content: JsonObject | JsonObject[], fields: JsonObject = {}, message: JsonObject = {}) =>
    assistantLine(
      messageId,
      Array.isArray(content) ? content : [content],
      { usage: toUsageFields(1, 20), model: 'x', ...message },
      fields,
    );
  const callsOf = async (lines: readonly JsonObject[], options?: ParseOptions) =>
    (await parseTranscript('s', toJsonl(...lines), options)).toolCalls;

  it('match an early result to its own call only, even if ids repeat', async () => {
    const another: JsonObject = { ...call(use('Bash', { command: 'git' }, 'c-1')), uuid: 'u-2' };
    const lines = [resultLine('c-1', 'early'), call(use('Bash', { command: 'ls' }, 'c-1'), { uuid: 'u-1' }), another];
    const message = { ...(another.message as JsonObject), id: 'msg_000000000000000000000002' };
    expect(await callsOf([...lines.slice(0, 2), { ...another, message }])).toMatchObject([
      { program: 'ls', is_error: false, output_bytes: 5 },
      { program: 'git', is_error: null, output_bytes: null },
    ]);
  });

  describe('a tool call', () => {
    it('is a sub-agent’s if its line is marked so, or names an agent', async () => {
      const isSubagent = async (fields: JsonObject) => only(await callsOf([call(use('Bash'), fields)])).is_subagent;
      expect(await isSubagent({})).toBe(false);
      expect(await isSubagent({ isSidechain: false })).toBe(false);
      expect(await isSubagent({ isSidechain: true })).toBe(true);
      expect(await isSubagent({ agentId: 'a1' })).toBe(true);
    });

    it('has every field', async () => {
      const lines = [
        userLine('go'),
        call(use('Bash', { command: 'cd /x && git log' }), { ...at(1), isSidechain: true }),
        resultLine(
          toolId('1'),
          [
            { type: 'text', text: 'é' },
            { type: 'text', text: 'b' },
          ],
          at(3.5),
        ),
      ];
      const { toolCalls, messages } = await parseTranscript('s', toJsonl(...lines), { maxInlineContentBytes: 2 });
      expect(only(toolCalls)).toEqual({
        call_key: toolId('1'),
        response_key: messageId,
        session_id: 's',
        message_id: messages[1]?.id,
        tool_name: 'Bash',
        tool_kind: 'shell',
        mcp_server: null,
        program: 'git',
        file_path: null,
        subagent_type: null,
        subagent_id: null,
        skill_name: null,
        model: 'x',
        timestamp: '2026-01-01T00:00:01.000Z',
        is_subagent: true,
        duration_ms: 2500,
        is_error: false,
        is_denied: false,
        input_bytes: 30,
        output_bytes: 4,
        line_number: 2,
      });
    });

    it('is paired with its result whichever comes first, and exists without one', async () => {
      const lines = [call(use('Read'), at(1)), resultLine(toolId('1'), 'x', at(2))];
      const [early] = await callsOf(lines.toReversed());
      expect(early).toMatchObject({ duration_ms: 1000, is_error: false, output_bytes: 1 });
      expect(only(await callsOf(lines.slice(0, 1)))).toMatchObject({
        duration_ms: null,
        is_error: null,
        is_denied: false,
        output_bytes: null,
      });
      expect(await callsOf(lines.slice(1))).toEqual([]);
    });

    it('is emitted once for copies of its lines', async () => {
      const lines = [call(use('Read'), at(1)), resultLine(toolId('1'), 'x', at(2))];
      expect(only(await callsOf([...lines, ...lines, ...lines.toReversed()])).duration_ms).toBe(1000);
    });

    it('has no duration without both times, and never a negative one', async () => {
      expect(only(await callsOf([call(use('A')), resultLine(toolId('1'), 'x', at(2))])).duration_ms).toBeNull();
      expect(only(await callsOf([call(use('A'), at(5)), resultLine(toolId('1'), 'x', at(2))])).duration_ms).toBe(0);
    });

    it('belongs to no response if there is none', async () => {
      const made = call(use('A'), {}, { model: '<synthetic>' });
      expect(only(await callsOf([made])).response_key).toBeNull();
    });

    it('is identified by its response if its id is short, by its place if it has none', async () => {
      const content = [use('A', {}, 't1'), { type: 'text', text: 'x' }, use('B', {}, null)];
      const calls = await callsOf([call(content, { uuid: 'u1' }), resultLine('t1', 'x')]);
      expect(calls.map(({ call_key, is_error }) => [call_key, is_error])).toEqual([
        ['u1#2', null],
        [`${messageId}/t1`, false],
      ]);
    });

    it('is distinguished from another with the same short id', async () => {
      const other = assistantLine('msg_000000000000000000000002', [use('B', {}, 't1')], { usage: toUsageFields(1, 9) });
      const lines = [call(use('A', {}, 't1')), other, resultLine('t1', 'x')];
      expect((await callsOf(lines)).map(({ tool_name, is_error }) => [tool_name, is_error])).toEqual([
        ['A', null],
        ['B', false],
      ]);
    });

    it.each<[string, JsonObject, JsonObject]>([
      ['file_path', use('Edit', { file_path: '/a' }), { file_path: '/a' }],
      ['notebook_path', use('NotebookEdit', { notebook_path: '/b' }), { file_path: '/b' }],
      ['path', use('Read', { path: '/c' }), { file_path: '/c' }],
      ['the path of a search', use('Grep', { path: '/d' }), { file_path: null }],
      ['a long path', use('Write', { file_path: 'x'.repeat(600) }), { file_path: 'x'.repeat(512) }],
      ['a skill', use('Skill', { skill: 'commit' }), { skill_name: 'commit' }],
      ['an older skill', use('Skill', { command: 'pdf' }), { skill_name: 'pdf' }],
      ['a sub-agent', use('Task', { subagent_type: 'Explore' }), { subagent_type: 'Explore', program: null }],
      ['an MCP tool', use('mcp__my_db__run_query'), { mcp_server: 'my_db', tool_name: 'mcp__my_db__run_query' }],
      ['no MCP tool', use('mcp__x'), { mcp_server: null }],
      ['a tool without a name', { type: 'tool_use' }, { tool_name: 'unknown', input_bytes: 0 }],
      ['an input of the wrong type', use('Bash', 'ls'), { program: null, input_bytes: 2 }],
      [
        'an MCP call of the API',
        { type: 'mcp_tool_use', id: 'm1', name: 'q', server_name: 'db', input: { a: 1 } },
        { tool_name: 'q', mcp_server: 'db', input_bytes: 7 },
      ],
      [
        "a server's tool",
        { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'é' } },
        { tool_name: 'web_search', input_bytes: 14 },
      ],
    ])('tells %s', async (_name, block, expected) => {
      expect(only(await callsOf([call(block)]))).toMatchObject(expected);
    });

    it('names the sub-agent that it started', async () => {
      const lines = [call(use('Agent')), resultLine(toolId('1'), 'x', { toolUseResult: { agentId: 'a9' } })];
      expect(only(await callsOf(lines)).subagent_id).toBe('a9');
      const other = [call(use('TaskOutput')), resultLine(toolId('1'), 'x', { toolUseResult: { agentId: 'a9' } })];
      expect(only(await callsOf(other)).subagent_id).toBeNull();
    });

    it("takes a server's result from the assistant's own message", async () => {
      const server = { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} };
      const error = { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' };
      const result = { type: 'web_search_tool_result', tool_use_id: 's1', content: error };
      expect(only(await callsOf([call([server, result], at(1))]))).toMatchObject({ is_error: true, duration_ms: 0 });
      const mcp = [
        { type: 'mcp_tool_use', id: 'm1', name: 'q', server_name: 'db' },
        { type: 'mcp_tool_result', tool_use_id: 'm1', is_error: false, content: [] },
      ];
      expect(only(await callsOf([call(mcp)])).is_error).toBe(false);
    });
  });

  describe('a denied call', () => {
    const text = "The user doesn't want to proceed with this tool use.";
    const isDenied = async (result: JsonObject) => only(await callsOf([call(use('Bash')), result])).is_denied;

    it('is recognised by its kind, or by the text of its error', async () => {
      expect(await isDenied(resultLine(toolId('1'), 'no', { toolDenialKind: 'user-rejected' }, true))).toBe(true);
      expect(await isDenied(resultLine(toolId('1'), 'no', { toolDenialKind: 'user-rejected' }))).toBe(true);
      expect(await isDenied(resultLine(toolId('1'), text, {}, true))).toBe(true);
      expect(await isDenied(resultLine(toolId('1'), [{ type: 'text', text }], {}, true))).toBe(true);
      expect(await isDenied(resultLine(toolId('1'), text))).toBe(false);
      expect(await isDenied(resultLine(toolId('1'), 'Exit code 1', {}, true))).toBe(false);
    });

    it('is distinguished from the others of its line', async () => {
      const result = (id: string, is_error: boolean) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: 'x',
        is_error,
      });
      const lines = [
        call([use('A', {}, toolId('1')), use('B', {}, toolId('2'))]),
        userLine([result(toolId('1'), true), result(toolId('2'), false)], {
          toolDenialKind: 'user-rejected',
          toolUseResult: { agentId: 'a' },
        }),
      ];
      expect((await callsOf(lines)).map(({ is_denied }) => is_denied)).toEqual([true, false]);
    });
  });

  describe('the open calls', () => {
    it('are bounded, so the oldest call is emitted without a result, the oldest result is dropped', async () => {
      const ids = ['1', '2', '3'].map(toolId);
      const uses = ids.map((id) => call(use('A', {}, id)));
      const results = ids.map((id) => resultLine(id, 'x'));
      const errorsOf = async (lines: readonly JsonObject[]) =>
        (await callsOf(lines, { maxOpenToolCalls: 2 })).map(({ call_key, is_error }) => [call_key, is_error]);
      expect(await errorsOf([...uses, ...results])).toEqual([
        [ids[0], null],
        [ids[1], false],
        [ids[2], false],
      ]);
      expect(await errorsOf([...results, ...uses])).toEqual([
        [ids[1], false],
        [ids[2], false],
        [ids[0], null],
      ]);
    });
  });
});
