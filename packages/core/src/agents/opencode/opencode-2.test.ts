import { describe, expect, it } from 'vitest';
import { countTokens, listIssues, readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const START = Date.UTC(2026, 9, 1, 8);
const MODEL = { id: 'claude-sonnet-4-5', providerID: 'anthropic', variant: 'default' };
const tokens = (input: number, output: number, reasoning = 0) => ({
  ...{ input, output, reasoning, cache: { read: 0, write: 0 } },
});
const MESSAGES = [
  { id: 'msg_1', type: 'user', text: 'Look for the heron', time: { created: START } },
  {
    ...{ id: 'msg_2', type: 'assistant', agent: 'build', model: MODEL, tokens: tokens(100, 20, 5), finish: 'stop' },
    ...{ content: [{ type: 'text', text: 'Here' }], time: { created: START + 1, completed: START + 2 } },
  },
];
const HEADER = { recount: 'session', version: 1, agent: 'opencode', session: 'ses_heron' };
const toRow = ({ id, type, ...data }: Record<string, unknown>, rowid: number) => ({
  ...{ table: 'session_message', rowid },
  row: { id, session_id: 'ses_heron', type, seq: rowid, time_created: START, data: JSON.stringify(data) },
});

describe('opencode 2', () => {
  it('is read alike from rows and from what `opencode export` prints', async () => {
    const rows = await readTranscript(toJsonLines([HEADER, ...MESSAGES.map(toRow)]));
    const info = {
      id: 'ses_heron',
      title: 'Herons',
      location: { directory: '/home/ada/app' },
      time: { created: START },
    };
    const document = await readTranscript(JSON.stringify({ info, messages: MESSAGES }, null, 2));
    expect(document.identity).toMatchObject({ format: 'opencode-export', sessionId: 'ses_heron' });
    expect(document.metadata).toMatchObject({ title: 'Herons', cwd: '/home/ada/app' });
    for (const read of [rows, document]) {
      expect(listIssues(read)).toEqual([]);
      expect(countTokens(read)).toMatchObject({ responses: 1, input: 100, output: 25 });
      expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Look for the heron' });
    }
    expect(document.apiResponses[0]?.response_key).toBe(rows.apiResponses[0]?.response_key);
  });

  it('names Zen as the seller of its models', async () => {
    const [question, answer] = MESSAGES;
    const sold = { ...answer, model: { id: 'gpt-5', providerID: 'opencode' } };
    const read = await readTranscript(toJsonLines([HEADER, toRow(question ?? {}, 1), toRow(sold, 2)]));
    expect(read.apiResponses).toMatchObject([{ model: 'opencode/gpt-5' }]);
  });

  it('streams parts whose reasoning is separate from the output, although they state no total', async () => {
    const line = (type: string, part: object) => ({ type, timestamp: START, sessionID: 'ses_heron', part });
    const state = {
      ...{ status: 'completed', input: { command: 'false' }, output: 'no', time: { start: START, end: START + 1 } },
      metadata: { metadata: { exit: 1 }, content: [] },
    };
    const read = await readTranscript(
      toJsonLines([
        line('step_start', { id: 'prt_1', type: 'step-start' }),
        line('tool_use', { partID: 'prt_2', id: 'call_0000000000000000001', type: 'tool', tool: 'shell', state }),
        line('step_finish', {
          id: 'prt_3',
          type: 'step-finish',
          reason: 'stop',
          tokens: tokens(100, 20, 5),
          cost: 0.5,
        }),
        {
          type: 'error',
          timestamp: START,
          sessionID: 'ses_heron',
          error: { type: 'provider.error', message: 'Slow down' },
        },
      ]),
    );
    expect(listIssues(read)).toEqual([]);
    expect(countTokens(read)).toMatchObject({ responses: 1, input: 100, output: 25 });
    expect(read.toolCalls).toMatchObject([{ tool_kind: 'shell', is_error: true }]);
    expect(read.contentBlocks.at(-1)?.content_text).toBe('Slow down');
  });

  it('counts copies before the session’s own creation for the session that they come from', async () => {
    const session = { table: 'session_v2', rowid: 1, row: { id: 'ses_heron', time_created: START + 1000 } };
    const own = { ...MESSAGES[1], id: 'msg_3', tokens: tokens(1, 1), time: { created: START + 2000 } };
    const read = await readTranscript(toJsonLines([HEADER, session, ...[...MESSAGES, own].map(toRow)]));
    expect(read.apiResponses.map((row) => row.is_marked_copy)).toEqual([true, false]);
  });
});

describe('totals that opencode 1 states', () => {
  const message = (cost: number, total: number) => {
    const step = { type: 'step-finish', cost: 0.5, tokens: { ...tokens(100, 20, 5), total } };
    const info = { role: 'assistant', cost, time: { created: START } };
    return {
      ...{ table: 'message', rowid: 1, row: { id: 'msg_1', data: JSON.stringify(info) } },
      children: [{ table: 'part', rowid: 1, row: { id: 'prt_1', message_id: 'msg_1', data: JSON.stringify(step) } }],
    };
  };

  it.each([
    [125, 0.5, []],
    [120, 0.5, []],
    [130, 0.5, ['Tokens of all steps: 130 stated, 120 counted']],
    [125, 0.7, ['Cost of all messages and of their steps, in millionths of a dollar: 700000 stated, 500000 counted']],
  ])('are compared with what is counted: %d tokens, %d dollars', async (total, cost, expected) => {
    const { warnings } = await readTranscript(toJsonLines([HEADER, message(cost, total)]));
    expect(warnings.map(({ error }) => error)).toEqual(expected);
  });
});
