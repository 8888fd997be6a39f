import { describe, expect, it } from 'vitest';
import { countTokens, listIssues, readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const at = (second: number) => new Date(Date.UTC(2026, 1, 1, 8, 0, second)).toISOString();
const SESSION = [
  {
    type: 'session_start',
    id: 's-1',
    title: 'New',
    sessionTitle: 'Heron',
    cwd: '/home/ada/app',
    owner: 'ada',
    version: 2,
  },
  {
    type: 'message',
    id: 'm1',
    timestamp: at(1),
    message: {
      role: 'user',
      content: [{ type: 'text', text: '<system-reminder>\nBe brief\n</system-reminder>\n\nFind the heron' }],
    },
  },
  {
    type: 'message',
    id: 'm2',
    parentId: 'm1',
    timestamp: at(2),
    message: {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'tu-1', name: 'Execute', input: { command: 'ls nest' } }],
    },
  },
  {
    type: 'message',
    id: 'm3',
    parentId: 'm2',
    timestamp: at(4),
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'tu-1', content: 'Error: no nest' }] },
  },
  { type: 'todo_state', id: 't1', todos: {} },
];
const SETTINGS = {
  ...{
    assistantActiveTimeMs: 5,
    model: 'claude-sonnet-4-5-20250929',
    providerLock: 'anthropic',
    providerLockTimestamp: at(2),
  },
  tokenUsage: {
    inputTokens: 73_400,
    outputTokens: 47_485,
    cacheCreationTokens: 12,
    cacheReadTokens: 3_518_842_000 / 10,
    thinkingTokens: 7,
  },
};

describe('Droid', () => {
  it('reads the content of a session, which has no usage', async () => {
    const read = await readTranscript(toJsonLines(SESSION), '/h/.factory/sessions/-app/s-1.jsonl');
    expect(listIssues(read)).toEqual([]);
    expect(read.identity).toMatchObject({ agent: 'droid', sessionId: 's-1' });
    expect(read.apiResponses).toEqual([]);
    expect(read.messages.every(({ tokens_in, cost_usd }) => tokens_in === null && cost_usd === null)).toBe(true);
    expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron' });
    expect(read.metadata).toMatchObject({ title: 'Heron', cwd: '/home/ada/app' });
    expect(read.toolCalls).toMatchObject([{ tool_kind: 'shell', program: 'ls', is_error: true, duration_ms: 2000 }]);
  });

  it('reads the totals beside it as a response of the session, the same in each version', async () => {
    for (const settings of [SETTINGS, Object.fromEntries(Object.entries(SETTINGS).reverse())]) {
      const read = await readTranscript(
        JSON.stringify(settings, null, 2),
        '/h/.factory/sessions/-app/s-1.settings.json',
      );
      expect(listIssues(read)).toEqual([]);
      expect(read.identity).toMatchObject({
        agent: 'droid',
        sessionId: 's-1:settings',
        isSubagent: true,
        parentSessionId: 's-1',
      });
      const { inputTokens, outputTokens, cacheCreationTokens, cacheReadTokens } = SETTINGS.tokenUsage;
      expect(countTokens(read)).toEqual({
        responses: 1,
        input: inputTokens,
        output: outputTokens,
        cacheRead: cacheReadTokens,
        cacheWrite: cacheCreationTokens,
      });
      expect(read.apiResponses).toMatchObject([
        { response_key: 'droid-session/s-1:settings', model: SETTINGS.model, timestamp: at(2) },
      ]);
    }
  });

  it('accepts two billion tokens of a session, and reports more', async () => {
    for (const [inputTokens, counted] of [
      [2e9, 2e9],
      [2e9 + 1, 0],
    ]) {
      const settings = { ...SETTINGS, tokenUsage: { ...SETTINGS.tokenUsage, inputTokens } };
      const read = await readTranscript(JSON.stringify(settings), '/h/.factory/sessions/-app/s-1.settings.json');
      expect(countTokens(read).input).toBe(counted);
      expect(read.warnings.map(({ code }) => code)).toEqual(counted === 0 ? ['invalid_usage'] : []);
    }
  });

  it('reads the stream of a run', async () => {
    const read = await readTranscript(
      toJsonLines([
        {
          type: 'system',
          subtype: 'init',
          sessionId: 's-2',
          timestamp: Date.parse(at(0)),
          model: 'm',
          cwd: '/app',
          tools: [],
          reasoning_effort: 'off',
        },
        { type: 'message', sessionId: 's-2', role: 'user', text: 'Look', timestamp: Date.parse(at(1)) },
        {
          type: 'tool_call',
          sessionId: 's-2',
          id: 'c-1',
          toolName: 'Read',
          parameters: { file_path: 'a' },
          timestamp: Date.parse(at(2)),
        },
        {
          type: 'tool_result',
          sessionId: 's-2',
          id: 'c-1',
          isError: false,
          value: 'grey',
          timestamp: Date.parse(at(3)),
        },
        {
          type: 'completion',
          sessionId: 's-2',
          finalText: 'Grey',
          timestamp: Date.parse(at(4)),
          usage: { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 },
        },
      ]),
    );
    expect(listIssues(read)).toEqual([]);
    expect(read.identity).toMatchObject({ format: 'droid-stream-json', sessionId: 's-2' });
    expect(countTokens(read)).toEqual({ responses: 1, input: 10, output: 5, cacheRead: 3, cacheWrite: 2 });
    expect(read.toolCalls).toMatchObject([{ tool_kind: 'read', file_path: 'a', is_error: false }]);
  });

  it('compares the total with sub-agents with its parts, and names usage in members that it does not know', async () => {
    const used = (inputTokens: number, outputTokens: number) => ({ inputTokens, outputTokens });
    const settings = {
      ...{
        inclusiveTokenUsage: used(160, 31),
        childInclusiveTokenUsageBySessionId: { a: used(50, 5), b: used(10, 5) },
      },
      ...{ tokenUsage: used(100, 20), model: 'm', reasoningEffort: 'high', advisorUsage: used(7, 7) },
    };
    const read = await readTranscript(JSON.stringify(settings), '/h/.factory/sessions/-app/s-1.settings.json');
    expect(countTokens(read)).toMatchObject({ responses: 1, input: 100, output: 20 });
    expect([...read.warnings, ...read.notices].map(({ code, error }) => `${code}: ${error}`)).toEqual([
      'total_mismatch: outputTokens of the session with its sub-agents: 31 stated, 30 counted',
      'unread_content: Usage that is not counted, in lines of type advisorUsage',
    ]);
  });

  it('names usage and texts in lines that it does not read', async () => {
    const read = await readTranscript(
      toJsonLines([
        SESSION[0],
        { type: 'message', id: 'm1', message: { role: 'assistant', content: 'Here', usage: { input_tokens: 5 } } },
        { type: 'todo_state', id: 't1', todos: { todos: '1. Look for the heron in the reeds' } },
        { type: 'mode_change', id: 't2', note: 'It is quiet by the water' },
        { type: 'egret', id: 't3' },
      ]),
      '/h/.factory/sessions/-app/s-1.jsonl',
    );
    expect(read.errors).toEqual([]);
    expect(read.notices.map(({ error }) => error)).toEqual([
      'Usage that is not counted, in lines of type message',
      'Text that is not shown, in lines of type mode_change',
      'Unknown line type: egret',
    ]);
  });
});
