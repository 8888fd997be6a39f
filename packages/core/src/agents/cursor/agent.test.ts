import { describe, expect, it } from 'vitest';
import { countTokens, listIssues, readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const message = (role: string, content: unknown) => ({ role, message: { content } });

describe('Cursor', () => {
  it('reads content, and says that usage is unknown', async () => {
    const lines = [
      message('user', [{ type: 'text', text: '<user_query>\nFind the heron\n</user_query>' }]),
      message('assistant', [
        { type: 'text', text: 'Looking' },
        { type: 'tool_use', name: 'Shell', input: { command: 'ls' } },
      ]),
      { type: 'turn_ended', status: 'success' },
    ];
    const folder = '/h/.cursor/projects/app/agent-transcripts/c0ffee';
    const read = await readTranscript(toJsonLines(lines), `${folder}/c0ffee.jsonl`);
    expect(listIssues(read)).toEqual([]);
    expect(read.identity).toMatchObject({ agent: 'cursor', sessionId: 'c0ffee', isSubagent: false });
    expect(read.apiResponses).toEqual([]);
    expect(read.messages.map(({ tokens_in, tokens_out, cost_usd }) => [tokens_in, tokens_out, cost_usd])).toEqual([
      [null, null, null],
      [null, null, null],
    ]);
    expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron', tool_use_count: 1 });
    const unknown = { tokens_in: null, tokens_out: null, cache_read: null, cache_write: null, cost_estimate_usd: null };
    expect(read.stats).toMatchObject(unknown);
    const unanswered = await readTranscript(toJsonLines(lines.slice(0, 1)), `${folder}/c0ffee.jsonl`);
    expect(unanswered.stats).toMatchObject({ tokens_in: 0, cost_estimate_usd: 0 });
    expect(read.toolCalls).toMatchObject([{ tool_kind: 'shell', program: 'ls' }]);
    const child = await readTranscript(toJsonLines(lines), `${folder}/subagents/beef.jsonl`);
    expect(child.identity).toMatchObject({ sessionId: 'c0ffee:beef', isSubagent: true, parentSessionId: 'c0ffee' });
  });

  it('reads the stream of a run, with usage if its version has it', async () => {
    const session_id = 'a1b2c3d4-0000-4000-8000-000000000001';
    const lines = [
      {
        type: 'system',
        subtype: 'init',
        session_id,
        model: 'Auto',
        cwd: '/app',
        permissionMode: 'default',
        apiKeySource: 'login',
      },
      { type: 'user', message: { role: 'user', content: [{ type: 'text', text: 'Look' }] }, session_id },
      { type: 'thinking', subtype: 'delta', text: 'Let me ', session_id, timestamp_ms: 1_770_000_000_000 },
      { type: 'thinking', subtype: 'delta', text: 'look', session_id, timestamp_ms: 1_770_000_000_100 },
      { type: 'thinking', subtype: 'completed', session_id, timestamp_ms: 1_770_000_000_200 },
      {
        type: 'tool_call',
        subtype: 'started',
        call_id: 'call-1',
        tool_call: { readToolCall: { args: { path: 'a.md' } } },
        session_id,
        timestamp_ms: 1_770_000_000_300,
      },
      {
        type: 'tool_call',
        subtype: 'completed',
        call_id: 'call-1',
        tool_call: { readToolCall: { result: { success: { content: 'grey' } } } },
        session_id,
        timestamp_ms: 1_770_000_000_900,
      },
      { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text: 'Grey' }] }, session_id },
    ];
    const end = { type: 'result', subtype: 'success', result: 'Grey', session_id, duration_ms: 900, is_error: false };
    const without = await readTranscript(toJsonLines([...lines, end]));
    expect(listIssues(without)).toEqual([]);
    expect(without.identity).toMatchObject({ format: 'cursor-stream-json', sessionId: session_id });
    expect(without.apiResponses).toEqual([]);
    expect(without.contentBlocks.map(({ block_type }) => block_type)).toEqual([
      'text',
      'thinking',
      'tool_use',
      'tool_result',
      'text',
    ]);
    expect(without.toolCalls).toMatchObject([
      { tool_name: 'read', tool_kind: 'read', file_path: 'a.md', duration_ms: 600, is_error: false, output_bytes: 4 },
    ]);
    const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 3, cacheWriteTokens: 2 };
    const withUsage = await readTranscript(toJsonLines([...lines, { ...end, request_id: 'r', usage }]));
    expect(countTokens(withUsage)).toEqual({ responses: 1, input: 10, output: 5, cacheRead: 3, cacheWrite: 2 });
  });
});
