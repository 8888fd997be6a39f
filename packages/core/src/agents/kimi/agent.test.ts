import { expect, it } from 'vitest';
import { countTokens, listIssues, readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const START = Date.UTC(2026, 6, 25, 8);
const record = (type: string, second: number, more: object) => ({ type, ...more, time: START + second * 1000 });
const event = (type: string, second: number, more: object) =>
  record('context.append_loop_event', second, { event: { type, turnId: '0', step: 1, ...more } });
const usage = (inputOther: number, output: number, inputCacheRead: number) => ({
  usage: { inputOther, output, inputCacheRead, inputCacheCreation: 0 },
});
const step = '381bd9c3-486b-41bf-b250-21feb57b5d13';

it('counts a step of Kimi Code once, and requests outside the loop', async () => {
  const lines = [
    { type: 'metadata', protocol_version: '1.4', created_at: START },
    record('config.update', 0, { modelAlias: 'moonshot-ai/kimi-k2.7-code', cwd: '/home/ada/app' }),
    record('turn.prompt', 1, { input: [{ type: 'text', text: 'Find the heron' }], origin: { kind: 'user' } }),
    event('step.begin', 2, { uuid: step }),
    record('llm.request', 2, { model: 'kimi-k2.7-code' }),
    event('content.part', 3, { uuid: 'x', stepUuid: step, part: { type: 'think', think: 'Where?' } }),
    event('tool.call', 4, {
      uuid: 'Glob_0',
      stepUuid: step,
      toolCallId: 'Glob_0',
      name: 'Glob',
      args: { pattern: '*' },
    }),
    event('tool.result', 5, { parentUuid: 'Glob_0', toolCallId: 'Glob_0', result: { output: 'a.md' } }),
    event('step.end', 6, { uuid: step, ...usage(100, 20, 50), finishReason: 'tool_use' }),
    record('usage.record', 6, { model: 'moonshot-ai/kimi-k2.7-code', ...usage(100, 20, 50), usageScope: 'turn' }),
    record('usage.record', 7, { model: 'moonshot-ai/kimi-k2.7-code', ...usage(7, 3, 0), usageScope: 'session' }),
  ];
  const folder = '/h/.kimi-code/sessions/wd_app_ab12/session_1bcbe023/agents';
  const read = await readTranscript(toJsonLines(lines), `${folder}/main/wire.jsonl`);
  expect(listIssues(read)).toEqual([]);
  expect(read.identity).toMatchObject({ agent: 'kimi', sessionId: '1bcbe023', isSubagent: false });
  expect(countTokens(read)).toEqual({ responses: 2, input: 107, output: 23, cacheRead: 50, cacheWrite: 0 });
  expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron', thinking_blocks: 1 });
  expect(read.toolCalls).toMatchObject([{ tool_kind: 'search', is_error: false, duration_ms: 1000, output_bytes: 4 }]);
  const child = await readTranscript(toJsonLines(lines), `${folder}/agent-0/wire.jsonl`);
  expect(child.identity).toMatchObject({
    sessionId: '1bcbe023:agent-0',
    isSubagent: true,
    parentSessionId: '1bcbe023',
  });
});

it('reads the older records of Kimi CLI', async () => {
  const old = (type: string, second: number, payload: object) => ({
    timestamp: START / 1000 + second,
    message: { type, payload },
  });
  const lines = [
    { type: 'metadata', protocol_version: '1.1' },
    old('TurnBegin', 1, { user_input: [{ type: 'text', text: 'Find the heron' }] }),
    old('StepBegin', 2, { n: 1 }),
    old('ContentPart', 3, { type: 'text', text: 'Looking' }),
    old('ToolCall', 4, { type: 'function', id: 'Shell:0', function: { name: 'Shell', arguments: '{"command":"ls"}' } }),
    old('ToolResult', 5, { tool_call_id: 'Shell:0', return_value: { is_error: false, output: 'a.md' } }),
    old('StatusUpdate', 6, {
      context_usage: 0.1,
      message_id: 'chatcmpl-1',
      token_usage: { input_other: 100, output: 20, input_cache_read: 50, input_cache_creation: 5 },
    }),
  ];
  const read = await readTranscript(toJsonLines(lines), '/h/.kimi/sessions/0cc1/7d3f/wire.jsonl');
  expect(listIssues(read)).toEqual([]);
  expect(read.identity).toMatchObject({ sessionId: '7d3f', isSubagent: false });
  expect(countTokens(read)).toEqual({ responses: 1, input: 100, output: 20, cacheRead: 50, cacheWrite: 5 });
  expect(read.toolCalls).toMatchObject([{ tool_kind: 'shell', program: 'ls', is_error: false }]);
});
