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

  it('shows what a person typed without tags, and what Cursor added as context', async () => {
    const added = '<open_and_recently_viewed_files>\n- /app/a.md\n</open_and_recently_viewed_files>';
    const query = (text: string) => `<user_query>\n${text}\n</user_query>`;
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const read = await readTranscript(
      toJsonLines([
        message('user', [{ type: 'text', text: '<user_info>\nlinux\n</user_info>\n\n<git_status>clean</git_status>' }]),
        message('user', [
          { type: 'text', text: added },
          { type: 'text', text: `<timestamp>now</timestamp>\n${query('Find the heron')}` },
          image,
        ]),
        message('user', `${added}\n\nWhere is it?`),
        message('user', [{ type: 'text', text: query('Say </user_query> <b>twice</b>') }]),
        message('user', '<b>Bold</b> is what I want'),
        message('user', '<user_query>\nIt was cut'),
      ]),
      '/h/.cursor/projects/app/agent-transcripts/c0ffee/c0ffee.jsonl',
    );
    const texts = read.messages.map(({ id, metadata }) => [
      metadata.isMeta === true,
      read.contentBlocks
        .filter((block) => block.message_id === id)
        .map((block) => block.content_text ?? block.block_type),
    ]);
    expect(texts).toEqual([
      [true, ['<user_info>\nlinux\n</user_info>\n\n<git_status>clean</git_status>']],
      [true, [added, '<timestamp>now</timestamp>']],
      [false, ['Find the heron', 'image']],
      [true, [added]],
      [false, ['Where is it?']],
      [false, ['Say </user_query> <b>twice</b>']],
      [false, ['<b>Bold</b> is what I want']],
      [false, ['It was cut']],
    ]);
    expect(read.stats).toMatchObject({ prompt_count: 5, initial_prompt: 'Find the heron' });
  });

  it('does not count an empty query as a prompt', async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    for (const [content, prompts] of [
      ['<user_query></user_query>', 0],
      [[{ type: 'text', text: '<user_query>\n\n</user_query>' }], 0],
      [[{ type: 'text', text: '<user_query></user_query>' }, image], 1],
    ] as const) {
      const lines = [message('user', content), message('assistant', [{ type: 'text', text: 'Yes' }])];
      const read = await readTranscript(toJsonLines(lines), '/h/.cursor/projects/app/agent-transcripts/c0/c0.jsonl');
      expect(read.stats.prompt_count).toBe(prompts);
      expect(read.contentBlocks.filter(({ content_text: text }) => text?.includes('user_query'))).toEqual([]);
    }
  });

  it('names what it does not know, with the text and the usage in it', async () => {
    const session_id = 'a1b2c3d4-0000-4000-8000-000000000001';
    const novelty = { type: 'novelty', text: 'Seen', usage: { input_tokens: 5 } };
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 16, audioTokens: 1 };
    const expected = [
      'Unknown line type: novelty',
      'Usage that is not counted, in lines of type novelty',
      'Text that is not shown, in lines of type novelty',
    ];
    const stream = await readTranscript(
      toJsonLines([
        { type: 'system', subtype: 'init', session_id, model: 'Auto', cwd: '/app' },
        { type: 'retry', message: 'The request is repeated now' },
        { ...novelty, session_id },
        { type: 'result', session_id, usage },
      ]),
    );
    expect(stream.notices.map(({ error }) => error)).toEqual([...expected, 'Unknown field of usage: audioTokens']);
    expect(stream.warnings.map(({ error }) => error)).toEqual(['Tokens of a run: 16 stated, 15 counted']);
    const read = await readTranscript(
      toJsonLines([message('user', 'Look'), novelty]),
      '/h/agent-transcripts/a/a.jsonl',
    );
    expect(read.notices.map(({ error }) => error)).toEqual(expected);
  });
});
