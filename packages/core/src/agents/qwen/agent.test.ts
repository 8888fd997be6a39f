import { expect, it } from 'vitest';
import { countTokens, listIssues, readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const at = (second: number) => new Date(Date.UTC(2026, 7, 17, 12, 0, second)).toISOString();
const id = (number: number) => `019f0000-0000-7000-8000-${String(number).padStart(12, '0')}`;
let last: string | null = null;
const line = (type: string, number: number, more: object) => {
  const parentUuid = last;
  last = id(number);
  return {
    uuid: id(number),
    parentUuid,
    sessionId: id(999),
    timestamp: at(number),
    type,
    cwd: '/home/ada/app',
    version: '0.21.13',
    gitBranch: 'main',
    ...more,
  };
};
const counts = (
  promptTokenCount: number,
  candidatesTokenCount: number,
  cachedContentTokenCount: number,
  thoughtsTokenCount = 0,
) => ({
  usageMetadata: {
    promptTokenCount,
    candidatesTokenCount,
    cachedContentTokenCount,
    thoughtsTokenCount,
    totalTokenCount: promptTokenCount + candidatesTokenCount,
  },
});
const parts = (role: string, ...elements: object[]) => ({ message: { role, parts: elements } });
const SESSION = [
  line('user', 1, {
    ...parts('user', { text: 'Find the heron' }, { text: '<hook/>' }),
    systemPayload: { displayText: 'Find the heron' },
  }),
  line('system', 2, { subtype: 'ui_telemetry', systemPayload: { uiEvent: { input_token_count: 5000 } } }),
  // One response on two lines, the second with cumulative counts.
  line('assistant', 3, {
    model: 'qwen3-coder-plus',
    ...parts('model', { text: 'Hm', thought: true }),
    ...counts(1000, 20, 600, 5),
  }),
  line('assistant', 4, {
    model: 'qwen3-coder-plus',
    ...parts('model', {
      functionCall: { id: 'call_00000000000000000001', name: 'read_file', args: { absolute_path: '/a' } },
    }),
    ...counts(1000, 50, 600, 5),
  }),
  line('tool_result', 5, {
    ...parts('user', {
      functionResponse: { id: 'call_00000000000000000001', name: 'read_file', response: { output: 'grey' } },
    }),
    toolCallResult: { status: 'success' },
  }),
  line('assistant', 6, { model: 'qwen3-coder-plus', ...parts('model', { text: 'Grey' }), ...counts(1100, 30, 1000) }),
  line('system', 7, { subtype: 'slash_command', systemPayload: { phase: 'invocation', rawCommand: '/stats now' } }),
];

it('counts each response once, with thoughts in the output and the cache outside the input', async () => {
  const read = await readTranscript(toJsonLines(SESSION));
  expect(listIssues(read)).toEqual([]);
  expect(read.identity).toMatchObject({ agent: 'qwen', sessionId: id(999) });
  expect(countTokens(read)).toEqual({
    responses: 2,
    input: 400 + 100,
    output: 50 + 30,
    cacheRead: 600 + 1000,
    cacheWrite: 0,
  });
  expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron', thinking_blocks: 1 });
  expect(read.metadata).toMatchObject({
    cwd: '/home/ada/app',
    gitBranch: 'main',
    version: '0.21.13',
    models: ['qwen3-coder-plus'],
  });
  expect(read.toolCalls).toMatchObject([
    { tool_kind: 'read', file_path: '/a', is_error: false, output_bytes: 4, duration_ms: 1000 },
  ]);
  expect(read.events.map(({ kind, name }) => [kind, name])).toEqual([
    ['prompt', null],
    ['slash_command', '/stats'],
  ]);
});
