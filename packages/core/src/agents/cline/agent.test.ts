import { expect, it } from 'vitest';
import { UNKNOWN_MODEL } from '../../rows.ts';
import { countTokens, listIssues, readTranscript } from '../../testing/agent-transcripts.ts';

const START = 1_769_053_680_585;
const say = (second: number, kind: string, text: string, more = {}) => ({
  ts: START + second * 1000,
  type: 'say',
  say: kind,
  text,
  ...more,
});
const request = (second: number, figures: object) =>
  say(second, 'api_req_started', JSON.stringify({ request: '<task>', ...figures }), {
    modelInfo: { providerId: 'anthropic', modelId: 'claude-sonnet-4-5', mode: 'act' },
  });
const TASK = [
  say(0, 'text', 'Find the heron'),
  request(1, { tokensIn: 10, tokensOut: 20, cacheWrites: 30, cacheReads: 40, cost: 0.01 }),
  say(2, 'reasoning', 'Where?'),
  say(3, 'text', 'I will look'),
  { ts: START + 4000, type: 'ask', ask: 'tool', text: JSON.stringify({ tool: 'readFile', path: 'a.md' }) },
  say(5, 'checkpoint_created', ''),
  // Roo Code: with OpenAI's protocol, input includes the cache.
  request(6, { tokensIn: 100, tokensOut: 5, cacheWrites: 0, cacheReads: 60, cost: 0, apiProtocol: 'openai' }),
  request(7, {}),
  say(8, 'completion_result', 'Done'),
];
const folder = (extension: string) =>
  `/h/.config/Code/User/globalStorage/${extension}/tasks/1769053680585/ui_messages.json`;

it.each([
  ['cline', 'saoudrizwan.claude-dev'],
  ['roo', 'rooveterinaryinc.roo-cline'],
  ['kilo-code', 'kilocode.kilo-code'],
])('reads the task folder of %s', async (agent, extension) => {
  const read = await readTranscript(JSON.stringify(TASK), folder(extension));
  expect(listIssues(read)).toEqual([]);
  expect(read.identity).toMatchObject({ agent, sessionId: '1769053680585' });
  expect(countTokens(read)).toEqual({ responses: 2, input: 10 + 40, output: 25, cacheRead: 100, cacheWrite: 30 });
  expect(read.apiResponses.map((row) => [row.reported_cost_usd, row.model])).toEqual([
    [0.01, 'claude-sonnet-4-5'],
    [null, 'claude-sonnet-4-5'],
  ]);
  expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron', thinking_blocks: 1 });
  expect(read.toolCalls).toMatchObject([{ tool_name: 'readFile', tool_kind: 'read', file_path: 'a.md' }]);
});

it('gives a request the same key in every version of the document', async () => {
  const keys = async (task: object[]) =>
    (await readTranscript(JSON.stringify(task), folder('saoudrizwan.claude-dev'))).apiResponses.map(
      (row) => row.response_key,
    );
  expect(await keys(TASK.slice(0, 3))).toEqual((await keys(TASK)).slice(0, 1));
});

it('has no model, and so no price, for versions that kept none', async () => {
  const unnamed = TASK.map(({ modelInfo: _, ...entry }: (typeof TASK)[number] & { modelInfo?: unknown }) => entry);
  const read = await readTranscript(JSON.stringify(unnamed), folder('saoudrizwan.claude-dev'));
  expect(read.apiResponses.map((row) => [row.model, row.reported_cost_usd])).toEqual([
    [UNKNOWN_MODEL, 0.01],
    [UNKNOWN_MODEL, null],
  ]);
});
