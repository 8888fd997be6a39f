import { describe, expect, it } from 'vitest';
import { countTokens, listIssues, readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const at = (second: number) => new Date(Date.UTC(2026, 3, 29, 21, 0, second)).toISOString();
const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const header = { sessionId: id(999), projectHash: 'ab12', startTime: at(0), lastUpdated: at(9), kind: 'main' };
const tokens = (input: number, output: number, cached = 0, thoughts = 0, tool = 0) => ({
  tokens: { input, output, cached, thoughts, tool, total: input + output + thoughts + tool },
});
const user = (number: number, second: number, content: unknown) => ({
  id: id(number),
  timestamp: at(second),
  type: 'user',
  content,
});
const gemini = (number: number, second: number, content: unknown, more = {}) => ({
  ...{ id: id(number), timestamp: at(second), type: 'gemini', content, model: 'gemini-2.5-pro' },
  ...more,
});
const call = (status: string) => ({
  toolCalls: [
    {
      id: 'run_shell_command-1-heron',
      name: 'run_shell_command',
      args: { command: 'git log' },
      status,
      timestamp: at(5),
      result:
        status === 'success'
          ? [{ functionResponse: { id: 'x', name: 'y', response: { output: 'two lines' } } }]
          : undefined,
    },
  ],
});
const thoughts = { thoughts: [{ subject: 'Plan', description: 'Look', timestamp: at(3) }] };
const MESSAGES = [
  user(1, 1, '/model'),
  user(2, 2, [{ text: 'Find the heron' }]),
  gemini(3, 3, 'I will look', { ...thoughts, ...tokens(1000, 20, 600, 30), ...call('success') }),
  { id: id(4), timestamp: at(6), type: 'error', content: '[API Error: overloaded]' },
  gemini(5, 7, 'It is in the reeds', tokens(1200, 40, 0, 0, 5)),
];
/** From the description of `tokens` alone. */
const EXPECTED = { responses: 2, input: 1000 - 600 + 1200 + 5, output: 20 + 30 + 40, cacheRead: 600, cacheWrite: 0 };

describe('Gemini CLI', () => {
  it('reads a session file, whether a document or lines', async () => {
    // A message is rewritten as a whole when tokens, then calls, then results become known.
    const lines = [
      header,
      MESSAGES[0],
      { $set: { lastUpdated: at(1) } },
      MESSAGES[1],
      gemini(3, 3, 'I will'),
      gemini(3, 3, 'I will look', { ...thoughts, ...tokens(1000, 20, 600, 30) }),
      gemini(3, 3, 'I will look', { ...thoughts, ...tokens(1000, 20, 600, 30), ...call('executing') }),
      MESSAGES[2],
      MESSAGES[3],
      MESSAGES[4],
      { $rewindTo: id(5) },
      { $set: { messages: MESSAGES.slice(0, 3), summary: 'Birds' } },
    ];
    const document = JSON.stringify({ ...header, messages: MESSAGES, summary: 'Birds' }, null, 2);
    const compact = JSON.stringify({ messages: MESSAGES, ...header, summary: 'Birds' });
    const texts = [toJsonLines(lines), document, compact];
    const keys: string[][] = [];
    for (const [index, text] of texts.entries()) {
      const read = await readTranscript(text, '/h/.gemini/tmp/ab12/chats/session-2026-04-29T21-00-00000000.json');
      expect(listIssues(read)).toEqual([]);
      expect(read.identity).toMatchObject({
        agent: 'gemini',
        format: index === 0 ? 'gemini-session' : 'gemini-document',
        sessionId: id(999),
        isSubagent: false,
      });
      expect(countTokens(read)).toEqual(EXPECTED);
      expect(read.apiResponses.map((row) => row.thinking_tokens)).toEqual([30, 0]);
      expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron', thinking_blocks: 1 });
      expect(read.events.map(({ kind, name }) => [kind, name])).toEqual([
        ['slash_command', '/model'],
        ['prompt', null],
        ['api_error', null],
        ['turn', 'exploring'],
      ]);
      expect(read.toolCalls).toMatchObject([
        { tool_kind: 'shell', program: 'git', is_error: false, output_bytes: 9, duration_ms: 2000 },
      ]);
      expect(
        read.contentBlocks
          .filter(({ block_type }) => block_type === 'text')
          .map(({ content_text }) => content_text)
          .join('|'),
      ).toBe(
        index === 0
          ? '/model|Find the heron|I will| look|[API Error: overloaded]|It is in the reeds'
          : '/model|Find the heron|I will look|[API Error: overloaded]|It is in the reeds',
      );
      expect(read.metadata).toMatchObject({
        title: 'Birds',
        firstTimestamp: expect.any(String),
        models: ['gemini-2.5-pro'],
      });
      keys.push(read.apiResponses.map((row) => row.response_key));
    }
    expect(keys[1]).toEqual(keys[0]);
    expect(keys[2]).toEqual(keys[0]);
  });

  it('names the parent of a sub-agent by its folder', async () => {
    const read = await readTranscript(
      toJsonLines([{ ...header, kind: 'subagent' }, MESSAGES[4]]),
      `/h/.gemini/tmp/p/chats/${id(7)}/${id(8)}.jsonl`,
    );
    expect(read.identity).toMatchObject({ isSubagent: true, parentSessionId: id(7), sessionId: `${id(7)}:${id(8)}` });
    expect(read.apiResponses).toMatchObject([{ is_subagent: true }]);
  });

  it('reads the folder and the kind of a document, wherever they stand', async () => {
    const { kind: _, ...rest } = header;
    const about = { directories: ['/home/ada/app', '/home/ada/lib'], kind: 'subagent', summary: 'Birds' };
    for (const document of [
      { ...rest, messages: MESSAGES, ...about },
      { ...about, ...rest, messages: MESSAGES },
    ]) {
      const read = await readTranscript(JSON.stringify(document, null, 2), '/h/.gemini/tmp/p/chats/session-x.json');
      expect(listIssues(read)).toEqual([]);
      expect(read.identity).toMatchObject({ isSubagent: true, parentSessionId: undefined, sessionId: id(999) });
      expect(read.metadata).toMatchObject({ cwd: '/home/ada/app', title: 'Birds' });
      expect(read.apiResponses.map((row) => row.is_subagent)).toEqual([true, true]);
    }
    const main = await readTranscript(JSON.stringify({ ...rest, messages: MESSAGES, kind: 'main' }));
    expect(main.identity.isSubagent).toBe(false);
  });

  it('takes the folder from the context that Gemini CLI writes, if nothing else names it', async () => {
    for (const context of [
      '- **Workspace Directories:**\n  - /home/ada/app\n  - /home/ada/lib\n- **Directory Structure:**\n',
      "I'm currently working in the directory: /home/ada/app\n",
      "I'm currently working in the following directories:\n  - /home/ada/app\n  - /b\n",
    ]) {
      const said = user(1, 1, `<session_context>\nToday is Friday\n${context}</session_context>`);
      const read = await readTranscript(toJsonLines([header, said, MESSAGES[1]]));
      expect(read.metadata.cwd).toBe('/home/ada/app');
      expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron' });
    }
  });

  it('shows neither JSON nor the text of files as prompt or title', async () => {
    const typed = {
      ...user(1, 1, [{ text: 'Look at @a.md' }, { text: 'Content of a.md' }]),
      displayContent: [{ text: 'Look at @a.md' }],
    };
    expect((await readTranscript(toJsonLines([header, typed]))).stats.initial_prompt).toBe('Look at @a.md');
    const stored = user(1, 1, JSON.stringify([{ text: 'Find the heron' }]));
    const result = user(2, 2, JSON.stringify([{ functionResponse: { name: 'x', response: { output: 'y' } } }]));
    const read = await readTranscript(toJsonLines([header, result, stored, user(3, 3, '{"a":"JSON of a person"}')]));
    expect(read.stats).toMatchObject({ prompt_count: 2, initial_prompt: 'Find the heron' });
    for (const [summary, title] of [
      ['{"summary":"Birds"}', 'Birds'],
      ['```json\n{"title":"Birds"}\n```', 'Birds'],
      ['["Birds"]', 'Birds'],
      ['[Birds] and {more}', '[Birds] and {more}'],
      ['{"a":1}', null],
      ['', null],
    ] as const) {
      expect([summary, (await readTranscript(toJsonLines([{ ...header, summary }, stored]))).metadata.title]).toEqual([
        summary,
        title,
      ]);
    }
  });

  it('shows each message once, although a resume writes all messages again with new times', async () => {
    const calling = gemini(3, 3, 'I will look', { ...thoughts, ...tokens(1000, 20, 600, 30), ...call('success') });
    const functionCall = { id: 'run_shell_command-1-heron', name: 'run_shell_command', args: {} };
    const again = [
      { ...user(2, 8, [{ text: 'Find the heron' }]) },
      { ...gemini(3, 8, [{ text: 'I will look' }, { functionCall }]) },
      { ...user(3, 8, [{ functionResponse: { id: functionCall.id, response: { output: 'two lines' } } }]) },
    ];
    const read = await readTranscript(
      toJsonLines([
        ...[header, MESSAGES[1], calling, header, { $set: { sessionId: id(999) } }, { $set: { messages: again } }],
        ...[user(4, 9, 'Go on'), header, { $set: { messages: [...again, user(4, 9, 'Go on')] } }],
      ]),
    );
    expect(listIssues(read)).toEqual([]);
    expect(read.messages.map(({ message_type: type }) => type)).toEqual(['user', 'assistant', 'user', 'user']);
    expect(read.stats).toMatchObject({ prompt_count: 2, tool_use_count: 1 });
    expect(countTokens(read).responses).toBe(1);
  });

  it('shows what a compression keeps once, although it has new ids, and its summary as context', async () => {
    const kept = [
      user(11, 9, 'So far: a heron was found'),
      { ...gemini(12, 9, 'Got it. Thanks for the additional context!') },
      user(13, 9, 'Find the heron'),
      { ...gemini(14, 9, 'I will look') },
    ];
    const read = await readTranscript(
      toJsonLines([
        ...[header, user(2, 2, 'Find the heron'), gemini(3, 3, 'I will look', tokens(1000, 20, 600, 30))],
        ...[{ $set: { messages: kept } }, header, { $set: { messages: kept } }, user(20, 20, 'Go on')],
      ]),
    );
    expect(listIssues(read)).toEqual([]);
    expect(read.messages.map(({ message_type: type, metadata }) => [type, metadata.isMeta === true])).toEqual([
      ['user', false],
      ['assistant', false],
      ['user', true],
      ['assistant', true],
      ['user', false],
    ]);
    expect(read.stats.prompt_count).toBe(2);
    expect(countTokens(read).responses).toBe(1);
  });

  it('compares the totals of its responses with their classes, once each', async () => {
    const short = gemini(1, 1, 'x', { tokens: { input: 10, output: 2, cached: 4, thoughts: 3, tool: 1, total: 14 } });
    const read = await readTranscript(toJsonLines([header, short, short, MESSAGES[4]]));
    expect(read.warnings.map(({ code, error }) => [code, error])).toEqual([
      ['total_mismatch', 'Tokens of all responses: 1259 stated, 1261 counted'],
    ]);
    const none = gemini(1, 1, 'x', { tokens: { input: 10, output: 2, total: 0 } });
    expect((await readTranscript(toJsonLines([header, none]))).warnings).toEqual([]);
  });

  it('names what it does not know, with the text and the usage in it', async () => {
    const novelty = { text: 'Seen', usage: { input_tokens: 5 } };
    const names = ['novelty', 'plumage'];
    const read = await readTranscript(
      toJsonLines([
        { ...header, memoryScratchpad: { version: 1, workflowSummary: 'It has looked for the heron' } },
        { ...novelty, id: id(1), type: names[0] },
        { $set: { plumage: novelty } },
        gemini(2, 2, 'x', { tokens: { input: 1, output: 1, total: 2, audio: 7 } }),
      ]),
    );
    expect(read.notices.map(({ error }) => error)).toEqual([
      ...names.flatMap((name) => [
        `Unknown line type: ${name}`,
        `Usage that is not counted, in lines of type ${name}`,
        `Text that is not shown, in lines of type ${name}`,
      ]),
      'Unknown field of usage: audio',
    ]);
  });

  it('reports where a document is truncated, and keeps what comes before', async () => {
    const text = JSON.stringify({ ...header, messages: MESSAGES }).slice(0, -60);
    const read = await readTranscript(text);
    expect(listIssues(read)).toEqual(['truncated_last_line:10']);
    expect(countTokens(read).responses).toBe(1);
  });

  it('reads the stream of a run, whose figures come at the end', async () => {
    const stats = (model: string, input: number, cached: number, output: number, total: number) => ({
      [model]: { total_tokens: total, input_tokens: input, output_tokens: output, cached, input: input - cached },
    });
    const models = { ...stats('gemini-2.5-pro', 1000, 600, 20, 1050), ...stats('gemini-2.5-flash', 100, 0, 5, 105) };
    const read = await readTranscript(
      toJsonLines([
        { type: 'init', timestamp: at(0), session_id: id(1), model: 'gemini-2.5-pro' },
        { type: 'message', timestamp: at(1), role: 'user', content: 'Find the heron' },
        {
          type: 'tool_use',
          timestamp: at(2),
          tool_name: 'read_file',
          tool_id: 'read-1',
          parameters: { file_path: 'a.md' },
        },
        {
          type: 'tool_result',
          timestamp: at(3),
          tool_id: 'read-1',
          status: 'error',
          error: { type: 'x', message: 'not there' },
        },
        { type: 'message', timestamp: at(4), role: 'assistant', content: 'Gone', delta: true },
        {
          type: 'result',
          timestamp: at(5),
          status: 'success',
          stats: {
            total_tokens: 1155,
            input_tokens: 1100,
            output_tokens: 25,
            cached: 600,
            input: 500,
            duration_ms: 5000,
            tool_calls: 1,
            models,
          },
        },
      ]),
    );
    expect(listIssues(read)).toEqual([]);
    expect(read.identity).toMatchObject({ format: 'gemini-stream-json', sessionId: id(1) });
    expect(countTokens(read)).toEqual({
      responses: 2,
      input: 400 + 100,
      output: 20 + 30 + 5,
      cacheRead: 600,
      cacheWrite: 0,
    });
    expect(read.toolCalls).toMatchObject([{ tool_kind: 'read', file_path: 'a.md', is_error: true, duration_ms: 1000 }]);
    const end = {
      type: 'result',
      timestamp: at(5),
      stats: { total_tokens: 1154, input_tokens: 1100, output_tokens: 25, models },
    };
    const { warnings } = await readTranscript(toJsonLines([{ type: 'init', session_id: id(1), model: 'x' }, end]));
    expect(warnings.map(({ error }) => error)).toEqual(['Tokens of the run: 1154 stated, 1155 counted']);
  });
});
