import { expect, it } from 'vitest';
import { parseTranscript } from '../parse-transcript.ts';
import type { JsonObject } from '../rows.ts';
import { toJsonl } from '../testing/transcript-lines.ts';

const at = '2026-05-01T08:00:00Z';

it.each<[string, string, JsonObject[]]>([
  [
    'kimi-wire',
    'usage',
    [{ type: 'usage.record', time: 1777622400000, usageScope: 'turn', model: 'kimi-k3', usage: 'x' }],
  ],
  [
    'gemini-session',
    'tokens',
    [
      { sessionId: 's', projectHash: 'p', startTime: at, lastUpdated: at },
      { id: 'm-1', type: 'gemini', timestamp: at, model: 'gemini-2.5-pro', content: 'Reeds', tokens: [1, 2] },
    ],
  ],
  [
    'qwen-session',
    'usageMetadata',
    [
      {
        type: 'assistant',
        sessionId: 's',
        uuid: 'u-1',
        timestamp: at,
        model: 'qwen3-coder',
        message: { role: 'model', parts: [{ text: 'Reeds' }] },
        usageMetadata: 'x',
      },
    ],
  ],
  ['copilot-cli', 'usage', [{ type: 'session.usage_record', id: 'e-1', timestamp: at, data: { usage: [1] } }]],
  [
    'copilot-cli',
    'usage',
    [
      {
        ...{ type: 'session.shutdown', id: 'e-1', timestamp: at },
        data: { modelMetrics: { 'gpt-5': { usage: 'x', requests: { count: 1 } } } },
      },
    ],
  ],
  ['gemini-stream-json', 'stats', [{ type: 'result', timestamp: at, status: 'success', stats: [1] }]],
  [
    'codex-exec',
    'usage',
    [
      { type: 'thread.started', thread_id: 't' },
      { type: 'turn.completed', usage: [1] },
    ],
  ],
  [
    'pi-session',
    'usage',
    [
      { type: 'session', id: 's', timestamp: at, cwd: '/srv' },
      {
        type: 'message',
        id: 'e-1',
        timestamp: at,
        message: { role: 'assistant', content: [{ type: 'text', text: 'Reeds' }], usage: [1], model: 'm' },
      },
    ],
  ],
])('usage of a wrong shape is an issue in %s', async (format, field, lines) => {
  const { warnings } = await parseTranscript('s', toJsonl(...lines), { format });
  expect(warnings.map(({ code, error }) => `${code}: ${error}`)).toEqual([
    `invalid_usage: Usage field ${field} is no plausible figure`,
  ]);
});

it('reports a request that is not JSON in a task of Cline', async () => {
  const task = [{ ts: 1777622400000, type: 'say', say: 'api_req_started', text: '{"tokensIn": 5' }];
  const { warnings, apiResponses } = await parseTranscript('s', JSON.stringify(task), { format: 'cline-task' });
  expect(warnings).toMatchObject([{ code: 'invalid_usage', error: 'A request is not a JSON object' }]);
  expect(apiResponses).toEqual([]);
});
