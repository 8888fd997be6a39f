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
