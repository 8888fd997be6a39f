import { describe, expect, it } from 'vitest';
import {
  countTokens,
  listIssues,
  readTranscript,
  type TokenCount,
  toJsonLines,
} from '../../testing/agent-transcripts.ts';
import { identifyTranscript } from '../identify-transcript.ts';

const at = (second: number) => new Date(Date.UTC(2026, 4, 12, 8, 0, second)).toISOString();
const header = (id: string, second: number, more = {}) => ({
  type: 'session',
  version: 3,
  id,
  timestamp: at(second),
  cwd: '/home/ada/app',
  ...more,
});
const usage = (input: number, output: number, cacheRead = 0, cacheWrite = 0, cost = 0) => ({
  ...{ input, output, cacheRead, cacheWrite, totalTokens: input + output + cacheRead + cacheWrite },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: cost },
});
const entry = (id: string, parentId: string | null, second: number, message: object) => ({
  ...{ type: 'message', id, parentId, timestamp: at(second) },
  message: { ...message, timestamp: Date.parse(at(second)) },
});
const prompt = (id: string, parentId: string | null, second: number, text: string) =>
  entry(id, parentId, second, { role: 'user', content: [{ type: 'text', text }] });
const answer = (
  id: string,
  parentId: string,
  second: number,
  used: object,
  content: object[] = [{ type: 'text', text: 'Done' }],
  more = {},
) =>
  entry(id, parentId, second, {
    ...{ role: 'assistant', content, api: 'anthropic-messages', provider: 'anthropic', model: 'claude-sonnet-4-5' },
    ...{ usage: used, stopReason: 'stop', ...more },
  });

/** A session with two branches after its first answer, a compaction with usage, and a tool that called a model. */
const SESSION = [
  header('0190aaaa-0000-7000-8000-000000000001', 0),
  {
    type: 'model_change',
    id: '00000001',
    parentId: null,
    timestamp: at(1),
    provider: 'anthropic',
    modelId: 'claude-sonnet-4-5',
  },
  prompt('00000002', '00000001', 2, 'Find the heron'),
  answer(
    '00000003',
    '00000002',
    3,
    usage(10, 40, 100, 50, 0.001),
    [
      { type: 'thinking', thinking: 'Where?', thinkingSignature: 'abc' },
      { type: 'toolCall', id: 'toolu_000000000000000000000001', name: 'bash', arguments: { command: 'ls -l' } },
    ],
    { stopReason: 'toolUse', responseId: 'msg_000000000000000000000001' },
  ),
  entry('00000004', '00000003', 5, {
    ...{ role: 'toolResult', toolCallId: 'toolu_000000000000000000000001', toolName: 'bash', isError: false },
    ...{ content: [{ type: 'text', text: 'heron.md' }], usage: usage(7, 3) },
  }),
  answer('00000005', '00000004', 6, usage(20, 30, 150, 0, 0.002)),
  prompt('00000006', '00000003', 7, 'No, the other one'),
  answer('00000007', '00000006', 8, usage(30, 20, 100, 10, 0.003)),
  {
    type: 'branch_summary',
    id: '00000008',
    parentId: '00000003',
    timestamp: at(9),
    fromId: '00000005',
    summary: 'Found it',
    usage: usage(5, 4),
  },
  {
    type: 'compaction',
    id: '00000009',
    parentId: '00000007',
    timestamp: at(10),
    summary: 'All of it',
    tokensBefore: 5000,
    usage: usage(500, 60),
    retainedTail: [{ role: 'assistant', content: [], usage: usage(30, 20, 100, 10) }],
  },
  answer('0000000a', '00000009', 11, usage(0, 0), [], { stopReason: 'error', errorMessage: 'overloaded' }),
  { type: 'session_info', id: '0000000b', parentId: '0000000a', timestamp: at(12), name: 'Heron' },
];
const PATH =
  '/home/ada/.pi/agent/sessions/--home-ada-app--/2026-05-12T08-00-00-000Z_0190aaaa-0000-7000-8000-000000000001.jsonl';

/** From the format's description alone. Each usage of a message, a compaction or a branch summary is one response. */
function countIndependently(lines: readonly object[]): TokenCount {
  const total = { responses: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  for (const line of lines as { usage?: ReturnType<typeof usage>; message?: { usage?: ReturnType<typeof usage> } }[]) {
    const used = line.message?.usage ?? line.usage;
    if (used === undefined || used.totalTokens === 0) continue;
    total.responses++;
    total.input += used.input;
    total.output += used.output;
    total.cacheRead += used.cacheRead;
    total.cacheWrite += used.cacheWrite;
  }
  return total;
}

it('names the seller of models that have its own prices', async () => {
  const zen = { provider: 'opencode', model: 'gpt-5' };
  const nameless = { provider: undefined, model: undefined };
  const change = { type: 'model_change', id: 'c', parentId: null, timestamp: at(3), provider: 'opencode' };
  const lines = [
    ...[header('0190aaaa-0000-7000-8000-00000000000a', 0), answer('a', 'p', 2, usage(1, 5), undefined, zen)],
    ...[{ ...change, modelId: 'gpt-5.1' }, answer('b', 'p', 4, usage(2, 5), undefined, nameless)],
    answer('c', 'p', 5, usage(3, 5), undefined, { provider: 'github-copilot', model: 'gpt-5' }),
  ];
  const { apiResponses } = await readTranscript(toJsonLines(lines));
  expect(apiResponses.map(({ model }) => model)).toEqual(['opencode/gpt-5', 'opencode/gpt-5.1', 'gpt-5']);
});

it('gives the answers after a change of the tier its terms, for the family of their models', async () => {
  const tier = (id: string, second: number, serviceTier: unknown) => ({
    ...{ type: 'service_tier_change', id, parentId: null, timestamp: at(second), serviceTier },
  });
  const gpt = { provider: 'openai-codex', model: 'gpt-6-astra' };
  const ask = (second: number, more = {}) => answer(`a-${second}`, 'p', second, usage(second, 5), undefined, more);
  const lines = [
    ...[header('0190aaaa-0000-7000-8000-000000000009', 0), ask(1, gpt)],
    ...[tier('t-1', 2, { openai: 'flex', anthropic: 'priority' }), ask(3, gpt), ask(4)],
    ...[ask(5, { ...gpt, provider: 'github-copilot' }), ask(6, { provider: 'local', model: 'heron-1' })],
    ...[tier('t-2', 7, 'heron'), ask(8, gpt), ask(9)],
    ...[tier('t-3', 10, null), ask(11, gpt)],
    ...[tier('t-4', 12, 7), ask(13, gpt)],
  ];
  const read = await readTranscript(toJsonLines(lines), '/home/ada/.omp/agent/sessions/p/s.jsonl');
  expect(read.apiResponses.map((row) => [row.tokens_in, row.service_tier, row.speed])).toEqual([
    ...[
      [1, null, null],
      [3, 'flex', null],
      [4, null, 'fast'],
    ],
    ...[
      [5, null, null],
      [6, null, null],
      [8, 'heron', null],
      [9, 'heron', null],
    ],
    ...[
      [11, null, null],
      [13, null, null],
    ],
  ]);
  expect(read.warnings.map(({ error }) => error)).toEqual(['Usage field serviceTier is no plausible figure']);
});

describe('Pi', () => {
  it('counts every branch, and the requests of tools and compactions', async () => {
    const read = await readTranscript(toJsonLines(SESSION), PATH);
    expect(listIssues(read)).toEqual([]);
    expect(read.identity).toMatchObject({
      agent: 'pi',
      sessionId: '0190aaaa-0000-7000-8000-000000000001',
    });
    expect(countTokens(read)).toEqual(countIndependently(SESSION));
    expect(read.stats).toMatchObject({ prompt_count: 2, initial_prompt: 'Find the heron' });
    expect(read.metadata).toMatchObject({
      title: 'Heron',
      titleSource: 'custom',
      cwd: '/home/ada/app',
      models: ['claude-sonnet-4-5'],
    });
    expect(read.toolCalls).toMatchObject([
      { tool_name: 'bash', tool_kind: 'shell', program: 'ls', is_error: false, duration_ms: 2000, output_bytes: 8 },
    ]);
    expect(read.events.map(({ kind }) => kind)).toEqual([
      'prompt',
      'turn',
      'prompt',
      'compaction',
      'api_error',
      'turn',
    ]);
    expect(read.apiResponses.map((row) => row.reported_cost_usd)).toContain(0.002);
    // Pi writes zeros if the provider gave no figures, or if nothing was billed.
    expect(read.messages.at(-1)).toMatchObject({ stop_reason: 'error', tokens_in: null, tokens_out: null });
  });

  it('gives responses the same keys in forks and forks of forks, and after a migration', async () => {
    const keys = async (lines: readonly object[], path?: string) =>
      (await readTranscript(toJsonLines(lines), path)).apiResponses.map((row) => row.response_key);
    const original = await keys(SESSION, PATH);
    expect(new Set(original).size).toBe(original.length);
    const fork = [
      header('0190aaaa-0000-7000-8000-000000000002', 20, { parentSession: PATH }),
      ...SESSION.slice(1, 6),
      prompt('0000000c', '00000005', 21, 'Go on'),
      answer('0000000d', '0000000c', 22, usage(1, 2)),
    ];
    const forkOfFork = [
      header('0190aaaa-0000-7000-8000-000000000003', 30, {
        parentSession: '/x/2026-05-12T08-00-20-000Z_0190aaaa-0000-7000-8000-000000000002.jsonl',
      }),
      ...fork.slice(1),
      answer('0000000e', '0000000d', 31, usage(3, 4)),
    ];
    const forked = await keys(fork);
    expect(original).toEqual(expect.arrayContaining(forked.slice(0, -1)));
    expect(original).not.toContain(forked.at(-1));
    expect((await keys(forkOfFork)).slice(0, -1)).toEqual(forked);
    const read = await readTranscript(toJsonLines(forkOfFork));
    expect(read.metadata.forkedFromSessionId).toBe('0190aaaa-0000-7000-8000-000000000002');
    expect(read.apiResponses.map((row) => row.is_marked_copy)).toEqual([true, true, true, true, false]);
    // Version 1 had no ids. A newer Pi generates them when it opens the file.
    const old = SESSION.slice(1, 8).map(({ id: _id, parentId: _parent, ...line }: Record<string, unknown>) => line);
    expect(await keys([{ type: 'session', id: 'x', timestamp: at(0), cwd: '/' }, ...old])).toEqual(
      await keys([SESSION[0] ?? {}, ...SESSION.slice(1, 8)]),
    );
  });

  it('tells OpenClaw and OMP from Pi by their folders, and by their title line', async () => {
    const text = toJsonLines(SESSION);
    const claw = await readTranscript(
      text,
      '/root/.openclaw/agents/main/sessions/0190aaaa-0000-7000-8000-000000000001.jsonl',
    );
    expect(claw.identity).toMatchObject({ agent: 'openclaw', sessionId: '0190aaaa-0000-7000-8000-000000000001' });
    const omp = await readTranscript(`${JSON.stringify({ type: 'title', title: 'Birds' })}\n${text}`);
    expect(omp.identity).toMatchObject({ agent: 'omp' });
    expect(listIssues(omp)).toEqual([]);
    const child = await readTranscript(
      text,
      '/h/.omp/agent/sessions/-app/2026-05-12T08-00-00-000Z_0190bbbb/Explore.jsonl',
    );
    expect(child.identity).toMatchObject({
      isSubagent: true,
      parentSessionId: '0190bbbb',
      agentId: 'Explore',
      sessionId: '0190bbbb:Explore',
    });
  });

  it('knows OpenClaw by its layout wherever its folder is, and a session that was reset by its name', async () => {
    const sessionId = '0190aaaa-0000-7000-8000-000000000001';
    const time = '2026-05-13T01-26-08.695Z';
    for (const path of [
      `/srv/claw/agents/main/sessions/${sessionId}.jsonl`,
      `/root/.openclaw/agents/main/sessions/${sessionId}.jsonl.reset.${time}`,
      `C:\\claw\\agents\\main\\sessions\\${sessionId}.jsonl.deleted.${time}.zst`,
      `${sessionId}.jsonl.reset.${time}`,
    ]) {
      const read = await readTranscript(toJsonLines(SESSION), path);
      expect(read.identity).toMatchObject({ agent: 'openclaw', sessionId });
    }
    const headless = identifyTranscript({ path: `x/${sessionId}.jsonl.reset.${time}`, head: Buffer.from('{}\n') });
    expect(headless.sessionId).toBe(sessionId);
  });

  it('counts requests without a message, whatever their kind, for the model that they name', async () => {
    const line = (id: string, second: number, kind: string, model: string, used: object) => ({
      ...{ type: 'usage', id, parentId: '00000002', timestamp: at(second), kind, provider: 'anthropic', model },
      usage: used,
    });
    const lines = [
      header('s', 0),
      prompt('00000001', null, 1, 'Look'),
      answer('00000002', '00000001', 2, usage(1000, 100, 0, 50_000, 0.01)),
      line('00000003', 3, 'cache_warm', 'claude-sonnet-4-5', usage(0, 0, 50_000, 0, 0.015)),
      line('00000004', 4, 'egret', 'claude-haiku-4-5', usage(3000, 50, 0, 0, 0.00325)),
      {
        type: 'context_edit',
        id: '00000005',
        parentId: '00000004',
        timestamp: at(5),
        targetId: '00000001',
        replacement: null,
      },
      // A copy, as forks have them.
      line('00000004', 4, 'egret', 'claude-haiku-4-5', usage(3000, 50, 0, 0, 0.00325)),
    ];
    const read = await readTranscript(toJsonLines(lines));
    expect(listIssues(read)).toEqual([]);
    expect(countTokens(read)).toEqual({
      responses: 3,
      input: 4000,
      output: 150,
      cacheRead: 50_000,
      cacheWrite: 50_000,
    });
    expect(read.apiResponses.map((row) => [row.model, row.reported_cost_usd, row.source])).toEqual([
      ['claude-sonnet-4-5', 0.01, 'message'],
      ['claude-sonnet-4-5', 0.015, 'progress'],
      ['claude-haiku-4-5', 0.00325, 'progress'],
    ]);
  });

  it('counts what OMP adds, such as its own requests, orchestration, long-lived cache writes and searches', async () => {
    const used = {
      ...usage(100, 20, 300, 40, 0.5),
      ...{ orchestration: { input: 5, cacheRead: 6, output: 7 }, totalTokens: 478, reasoningTokens: 9 },
      ...{ cttl: { ephemeral5m: 10, ephemeral1h: 30 }, server: { webSearch: 2, webFetch: 1 } },
    };
    const call = { provider: 'anthropic', model: 'claude-haiku-4-5', usage: usage(50, 5), errorMessage: 'No egret' };
    const lines = [
      header('s', 0, { titleSource: 'auto' }),
      { type: 'session_init', id: '1', timestamp: at(1), systemPrompt: 'You are a scout of birds', task: 'Look' },
      answer('2', '1', 2, used),
      { type: 'model_usage', id: '3', timestamp: at(3), purpose: 'title', stopReason: 'error', ...call },
    ];
    const read = await readTranscript(toJsonLines(lines));
    expect(listIssues(read)).toEqual([]);
    expect(countTokens(read)).toEqual({ responses: 2, input: 155, output: 32, cacheRead: 306, cacheWrite: 40 });
    expect(read.apiResponses[0]).toMatchObject({ cache_write_1h: 30, thinking_tokens: 9, web_search_requests: 2 });
    expect(read.apiResponses[1]).toMatchObject({ model: 'claude-haiku-4-5', tokens_in: 50 });
    expect(read.contentBlocks.map((block) => block.content_text)).toEqual([
      'You are a scout of birds',
      'Done',
      'No egret',
    ]);
  });

  it('compares the totals that usages state with their parts', async () => {
    const read = await readTranscript(
      toJsonLines([
        header('s', 0),
        // Explained are no total, a total without the cache, and a cost that the provider billed.
        answer('1', '0', 1, { ...usage(10, 20, 30, 40), totalTokens: 0 }),
        answer('2', '1', 2, { ...usage(10, 20, 30, 40), totalTokens: 30 }),
        answer('3', '2', 3, { ...usage(10, 20), cost: { input: 1, output: 2, total: 4, totalFromProvider: true } }),
        answer('4', '3', 4, { ...usage(10, 20, 30, 40), totalTokens: 107 }),
        answer('5', '4', 5, { ...usage(10, 20), cost: { input: 0.1, output: 0.2, total: 0.5 } }),
      ]),
    );
    expect(read.warnings.map(({ code, error }) => `${code}: ${error}`)).toEqual([
      'total_mismatch: Tokens of the responses whose total is not the sum of its parts: 107 stated, 100 counted',
      'total_mismatch: Millionths of a dollar of the responses whose total is not the sum of its parts: 500000 stated, 300000 counted',
    ]);
  });

  it('names what it does not read, such as entries, roles and states of extensions with a text or usage', async () => {
    const read = await readTranscript(
      toJsonLines([
        header('s', 0),
        { type: 'egret', id: '1', timestamp: at(1), note: 'It has been seen again', usage: usage(1, 2) },
        entry('2', '1', 2, { role: 'heron', content: 'I stand still' }),
        { type: 'custom', id: '3', timestamp: at(3), customType: 'nest', data: { usage: { input: 5 } } },
        { type: 'custom', id: '4', timestamp: at(4), customType: 'model-snapshot', data: { modelId: 'm' } },
        { type: 'label', id: '5', timestamp: at(5), label: 'Where the heron was' },
        { type: 'context_edit', id: '6', timestamp: at(6), targetId: '2', replacement: { content: 'It is gone now' } },
        answer('7', '6', 7, usage(1, 2), [{ type: 'feather', text: 'White' }]),
        // OpenClaw's reason for a failed request.
        {
          ...{ type: 'custom', id: '8', timestamp: at(8), customType: 'openclaw:prompt-error' },
          data: { provider: 'zai', error: 'quota exceeded' },
        },
      ]),
    );
    expect(read.errors).toEqual([]);
    expect(read.notices.map(({ error }) => error)).toEqual([
      'Unknown line type: egret',
      'Usage that is not counted, in lines of type egret',
      'Text that is not shown, in lines of type egret',
      'Unknown line type: message/heron',
      'Text that is not shown, in lines of type message/heron',
      'Usage that is not counted, in lines of type custom/nest',
      'Unknown type of content block: feather',
    ]);
    expect(read.contentBlocks.at(-1)?.content_text).toBe('quota exceeded');
    expect(read.events).toMatchObject([{ kind: 'api_error', name: 'zai' }, { kind: 'turn' }]);
  });

  it('keeps the text of a system message’s sections', async () => {
    const sections = { preamble: 'Be brief', tools: null, cwd: '/home/ada/app' };
    const message = { role: 'system', content: '', sections, toolsAdded: [{ name: 'read' }] };
    const read = await readTranscript(toJsonLines([header('s', 0), entry('00000001', null, 1, message)]));
    expect(listIssues(read)).toEqual([]);
    expect(read.contentBlocks.map((block) => block.content_text)).toEqual(['Be brief', '/home/ada/app']);
  });

  it('reports unknown lines as issues', async () => {
    const lines = [
      header('s', 0),
      { type: 'heron', id: '1', timestamp: at(1) },
      entry('00000002', null, 2, { role: 'egret' }),
      answer('00000003', '00000002', 3, usage(-1, 2)),
    ];
    const read = await readTranscript(toJsonLines(lines));
    expect(listIssues(read)).toEqual([
      'invalid_usage:4',
      'total_mismatch:1',
      'unknown_line_type:2',
      'unknown_line_type:3',
    ]);
  });
});
