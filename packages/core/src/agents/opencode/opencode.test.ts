import { describe, expect, it } from 'vitest';
import {
  countTokens,
  listIssues,
  readTranscript,
  type TokenCount,
  toJsonLines,
} from '../../testing/agent-transcripts.ts';

interface Tokens {
  total?: number;
  input: number;
  output: number;
  reasoning: number;
  cache: { read: number; write: number };
}
interface Part {
  type: string;
  tokens?: Tokens;
  [name: string]: unknown;
}
interface Message {
  info: { id: string; role: string; tokens?: Tokens; [name: string]: unknown };
  parts: Part[];
}

const START = Date.UTC(2026, 4, 12, 8);
const tokens = (input: number, output: number, reasoning = 0, read = 0, write = 0, isApart = true): Tokens => ({
  total: input + output + read + write + (isApart ? reasoning : 0),
  ...{ input, output, reasoning, cache: { read, write } },
});
const user = (id: string, second: number, parts: Part[]): Message => ({
  info: {
    ...{ id, role: 'user', time: { created: START + second * 1000 }, agent: 'build' },
    model: { providerID: 'anthropic', modelID: 'claude-sonnet-4-5' },
  },
  parts,
});
/** A message with one step for each usage. Its own usage is the last step's; its cost is the sum of all steps. */
const assistant = (id: string, second: number, steps: Tokens[], parts: Part[] = [], more = {}): Message => ({
  info: {
    ...{ id, role: 'assistant', providerID: 'anthropic', modelID: 'claude-sonnet-4-5', parentID: 'msg_1' },
    ...{ time: { created: START + second * 1000, completed: START + second * 1000 + 900 }, finish: 'stop' },
    ...{ cost: 0.001 * steps.length, tokens: steps.at(-1) ?? tokens(0, 0) },
    ...more,
  },
  parts: [...parts, ...steps.map((used) => ({ type: 'step-finish', reason: 'stop', cost: 0.001, tokens: used }))],
});
const tool = (name: string, callID: string, state: object): Part => ({ type: 'tool', callID, tool: name, state });
const completed = (input: object, output: string, metadata = {}) => ({
  ...{ status: 'completed', input, output, title: '', metadata },
  time: { start: START + 2100, end: START + 4100 },
});

const INFO = {
  ...{ id: 'ses_heron', slug: 'grey-heron', projectID: 'p', directory: '/home/ada/app', title: 'Look for the heron' },
  ...{ version: '1.2.26', time: { created: START, updated: START + 9000 } },
};
const MESSAGES: Message[] = [
  user('msg_1', 1, [
    { type: 'text', text: 'Look for the heron' },
    { type: 'text', text: 'Called the Read tool', synthetic: true },
    { type: 'file', mime: 'image/png', filename: 'heron.png', url: 'data:image/png;base64,AAAA' },
  ]),
  assistant(
    'msg_2',
    2,
    [tokens(7000, 149, 54, 0, 0, false)],
    [
      { type: 'step-start' },
      { type: 'reasoning', text: 'Where?' },
      tool('bash', 'call_000000000000000000000001', completed({ command: 'git status' }, 'clean', { exit: 0 })),
      tool('read', 'short', completed({ filePath: '/home/ada/app/heron.md' }, 'grey')),
      tool('bash', 'short', completed({ command: 'false' }, '', { exit: 1 })),
      tool('task', 'call_000000000000000000000002', {
        ...completed({ subagent_type: 'explore' }, 'done', { sessionId: 'ses_child' }),
      }),
    ],
  ),
  // From an old version that wrote two steps into one message and kept only the last one's tokens.
  assistant(
    'msg_3',
    5,
    [tokens(100, 10, 5, 7000, 50), tokens(200, 20, 30, 7100, 60)],
    [{ type: 'text', text: 'Here' }],
  ),
  user('msg_4', 6, [{ type: 'compaction', auto: true }]),
  assistant('msg_5', 7, [tokens(900, 90)], [{ type: 'text', text: 'All of it' }], { summary: true }),
  assistant('msg_6', 8, [], [], { error: { name: 'APIError', data: {} }, finish: undefined }),
];

/** Like a row of the store. Fields without a column are JSON in `data`. */
const toRow = ({ id, ...data }: Record<string, unknown>, rowid: number, table: string, ids = {}) => ({
  ...{ table, rowid },
  row: { id, session_id: 'ses_heron', ...ids, time_created: START, time_updated: START, data: JSON.stringify(data) },
});
const HEADER = { recount: 'session', version: 1, agent: 'opencode', session: 'ses_heron' };
const toRows = (messages: readonly Message[]) => [
  HEADER,
  {
    table: 'session',
    rowid: 1,
    row: { id: 'ses_heron', directory: INFO.directory, version: INFO.version, title: INFO.title },
  },
  ...messages.map(({ info, parts }, index) => ({
    ...toRow(info, index, 'message'),
    children: parts.map((part, at) => toRow({ id: `prt_${at}`, ...part }, at, 'part', { message_id: info.id })),
  })),
];

/** From the format's description alone. Every step is a response; the total shows whether output includes reasoning. */
function countIndependently(messages: readonly Message[]): TokenCount {
  const steps = messages.flatMap(({ parts }) => parts.flatMap(({ tokens: used }) => used ?? []));
  const sum = (toCount: (used: Tokens) => number) => steps.reduce((total, used) => total + toCount(used), 0);
  return {
    responses: steps.length,
    input: sum(({ input }) => input),
    output: sum(({ input, cache, total = 0 }) => total - input - cache.read - cache.write),
    cacheRead: sum(({ cache }) => cache.read),
    cacheWrite: sum(({ cache }) => cache.write),
  };
}

describe('opencode', () => {
  it('counts every step once, whether reasoning is in the output or beside it', async () => {
    const read = await readTranscript(toJsonLines(toRows(MESSAGES)));
    expect(listIssues(read)).toEqual([]);
    expect(read.identity).toMatchObject({ agent: 'opencode', sessionId: 'ses_heron', isSubagent: false });
    expect(countTokens(read)).toEqual(countIndependently(MESSAGES));
    expect(read.metadata).toMatchObject({ title: 'Look for the heron', cwd: '/home/ada/app', version: '1.2.26' });
    expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Look for the heron', user_messages: 5 });
    expect(read.events.map(({ kind }) => kind)).toEqual(['prompt', 'compaction', 'api_error', 'turn']);
    const costs = read.apiResponses.map((row) => row.reported_cost_usd);
    expect(costs).toEqual([0.001, 0.001, 0.001, 0.001]);
    expect(read.apiResponses.every(({ model }) => model === 'claude-sonnet-4-5')).toBe(true);
  });

  it('names the seller of models that have its own prices, and no other provider', async () => {
    const ask = (providerID: string, modelID: string) => {
      const messages = [user('msg_1', 1, []), assistant('msg_2', 2, [tokens(1, 2)], [], { providerID, modelID })];
      return readTranscript(toJsonLines(toRows(messages)));
    };
    const zen = await ask('opencode', 'gpt-5');
    expect(zen.apiResponses).toMatchObject([{ model: 'opencode/gpt-5', reported_cost_usd: 0.001 }]);
    expect(zen.messages.at(-1)).toMatchObject({ model: 'opencode/gpt-5', metadata: { provider: 'opencode' } });
    // Keys have both already, and stay as they are in stored sessions.
    expect(zen.apiResponses[0]?.response_key).toMatch(/^opencode\/\d+\/opencode\/gpt-5\//);
    for (const [provider, model] of [
      ['opencode', 'opencode/gpt-5'],
      ['openrouter', 'openai/gpt-5'],
      ['github-copilot', 'gpt-5'],
    ] as const) {
      expect((await ask(provider, model)).apiResponses).toMatchObject([{ model }]);
    }
  });

  it('knows what tools do, and which of them failed', async () => {
    const { toolCalls } = await readTranscript(toJsonLines(toRows(MESSAGES)));
    expect(toolCalls).toMatchObject([
      { tool_kind: 'shell', program: 'git', is_error: false, duration_ms: 2100 },
      { tool_kind: 'read', file_path: '/home/ada/app/heron.md', is_error: false },
      { tool_kind: 'shell', program: 'false', is_error: true },
      { tool_kind: 'agent', subagent_type: 'explore', subagent_id: 'ses_child' },
    ]);
  });

  it('gives responses the same keys in a fork, whose messages have new ids, and in every form of the store', async () => {
    const keys = async (lines: readonly unknown[]) =>
      (await readTranscript(toJsonLines(lines))).apiResponses.map((row) => row.response_key);
    const original = await keys(toRows(MESSAGES));
    expect(new Set(original).size).toBe(original.length);
    const fork = MESSAGES.map(({ info, parts }) => ({ info: { ...info, id: `msg_f${info.id}` }, parts }));
    expect(await keys(toRows(fork))).toEqual(original);
    const files = MESSAGES.flatMap(({ info, parts }) => [
      { file: `message/ses_heron/${info.id}.json`, value: info },
      ...parts.map((part, at) => ({
        file: `part/${info.id}/prt_${at}.json`,
        value: { id: `prt_${at}`, messageID: info.id, ...part },
      })),
    ]);
    expect(await keys([HEADER, { file: 'session/p/ses_heron.json', value: INFO }, ...files])).toEqual(original);
  });

  it('reads what `opencode export` prints as the rows of the store', async () => {
    const document = JSON.stringify({ info: INFO, messages: MESSAGES }, null, 2);
    const [read, rows] = await Promise.all([readTranscript(document), readTranscript(toJsonLines(toRows(MESSAGES)))]);
    expect(listIssues(read)).toEqual([]);
    expect(read.identity).toMatchObject({ agent: 'opencode', format: 'opencode-export', sessionId: 'ses_heron' });
    expect(read.apiResponses.map((row) => row.response_key)).toEqual(rows.apiResponses.map((row) => row.response_key));
    expect(countTokens(read)).toEqual(countTokens(rows));
    expect(read.toolCalls.map(({ call_key }) => call_key)).toEqual(rows.toolCalls.map(({ call_key }) => call_key));
  });

  it('treats a session that another one started as its sub-agent', async () => {
    const { identity } = await readTranscript(toJsonLines([{ ...HEADER, session: 'ses_child', parent: 'ses_heron' }]));
    expect(identity).toMatchObject({ sessionId: 'ses_child', isSubagent: true, parentSessionId: 'ses_heron' });
  });

  it('recognises Kilo by its header', async () => {
    const read = await readTranscript(toJsonLines([{ ...HEADER, agent: 'kilo' }, ...toRows(MESSAGES).slice(1)]));
    expect(read.identity).toMatchObject({ agent: 'kilo', format: 'kilo-session' });
    expect(countTokens(read)).toEqual(countIndependently(MESSAGES));
  });

  it('reports torn files and rows as lost', async () => {
    const message = (id: string) => ({ file: `message/ses_heron/${id}.json`, value: assistant(id, 2, []).info });
    const torn = (name: string) => ({ file: `${name}.json`, text: '{"id": "prt' });
    const row = { ...toRow(assistant('msg_4', 2, []).info, 4, 'message'), children: [] };
    const read = await readTranscript(
      toJsonLines([
        HEADER,
        torn('message/ses_heron/msg_1'),
        { ...message('msg_2'), children: [torn('part/msg_2/prt_1')] },
        { file: 'message/ses_heron/msg_3.json', value: [7] },
        { ...row, row: { ...row.row, data: '{"role": "assis' } },
      ]),
    );
    expect(read.errors.map(({ code }) => code)).toEqual(Array(4).fill('invalid_json'));
  });

  it('reports unknown rows as issues', async () => {
    const lines = [
      HEADER,
      { table: 'heron', rowid: 1, row: {} },
      { ...toRow({ id: 'msg_1', role: 'egret' }, 1, 'message'), children: [] },
      toRow({ id: 'prt_1', type: 'text' }, 1, 'part', { message_id: 'msg_9' }),
      {
        ...toRow(assistant('msg_2', 2, []).info, 2, 'message'),
        children: [toRow({ id: 'prt', type: 'egret' }, 2, 'part')],
      },
      { ...toRow(assistant('msg_3', 2, [tokens(-1, 2)]).info, 3, 'message'), children: [] },
    ];
    const read = await readTranscript(toJsonLines(lines));
    expect(listIssues(read)).toEqual([
      'invalid_usage:6',
      'unknown_line_type:2',
      'unknown_line_type:3',
      'unknown_line_type:4',
      'unknown_line_type:5',
    ]);
  });
});
