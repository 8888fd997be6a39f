import { expect, it } from 'vitest';
import type { JsonObject } from '../lines/json.ts';
import { parseTranscript } from '../parse/parse-transcript.ts';

const AT = '2026-05-01T08:00:00.000Z';
const header = (agent: string): JsonObject => ({ recount: 'session', version: 1, agent, session: 's-1' });
const pi = (usage: JsonObject): JsonObject => ({
  ...{ type: 'message', id: 'a', timestamp: AT },
  message: { role: 'assistant', content: [], model: 'm', usage },
});
const cursor = (usage: JsonObject): JsonObject => ({ type: 'result', session_id: 'u-1', usage });
const tokens = { input: 5, output: 3, herons: 7 };

/** For each format, a transcript with a count that its reader does not know. */
const TEXTS: Readonly<Record<string, readonly JsonObject[]>> = {
  'opencode-session': [
    header('opencode'),
    {
      ...{ table: 'session_message', rowid: 1 },
      row: {
        id: 'm',
        session_id: 's-1',
        type: 'assistant',
        time_created: 1777622400000,
        data: { tokens, content: [] },
      },
    },
  ],
  'opencode-json': [{ type: 'step_finish', timestamp: 1, sessionID: 's', part: { type: 'step-finish', tokens } }],
  'pi-session': [pi(tokens)],
  'omp-session': [pi({ ...tokens, premiumRequests: 2 })],
  'cursor-stream-json': [cursor({ inputTokens: 5, herons: 7 })],
  'gemini-document': [{ sessionId: 'g', messages: [{ id: 'm', type: 'gemini', timestamp: AT, tokens }] }],
  'cline-session': [
    {
      sessionId: 's',
      messages: [{ id: 'm', role: 'assistant', ts: 1, metrics: { inputTokens: 5, cost: 1, herons: 7 } }],
    },
  ],
  'droid-settings': [{ model: 'm', tokenUsage: { inputTokens: 5, factoryCredits: 9, herons: 7 } }],
  'openhands-session': [
    header('openhands'),
    {
      file: 's/base_state.json',
      value: {
        id: 's',
        stats: { usage_to_metrics: { agent: { token_usages: [{ prompt_tokens: 5, context_window: 9, herons: 7 }] } } },
      },
    },
  ],
};

it.each(Object.keys(TEXTS))('names a count that the reader of %s does not know', async (format) => {
  const text = (TEXTS[format] ?? []).map((line) => JSON.stringify(line)).join('\n');
  const { notices } = await parseTranscript('s-1', text, { format });
  expect(notices).toMatchObject([{ code: 'unknown_usage', error: 'Unknown field of usage: herons', count: 1 }]);
});
