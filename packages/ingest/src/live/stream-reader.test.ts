import type { AgentEvent } from '@recount/core/live';
import { expect, it } from 'vitest';
import { createStreamReader } from './stream-reader.ts';

/** Assembled from parts, so that secret scanners do not report this repository. */
const TOKEN = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;

const toLines = (lines: readonly unknown[]): Buffer =>
  Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

const toPiece = (text: string): unknown => ({
  type: 'stream_event',
  event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
});
const toStart = (id: string): unknown => ({
  type: 'stream_event',
  event: { type: 'message_start', message: { id, model: 'claude-sonnet-4-5' } },
});
const toAnswer = (id: string, block: unknown): unknown => ({
  type: 'assistant',
  message: { id, role: 'assistant', model: 'claude-sonnet-4-5', content: [block] },
});

const PIECES = [toStart('m1'), toPiece(`use ${TOKEN.slice(0, 20)}`), toPiece(`${TOKEN.slice(20)} now`)];
const CLAUDE_STREAM = toLines([
  { type: 'system', subtype: 'init', session_id: 's', tools: [], model: 'claude-sonnet-4-5', cwd: '/' },
  { type: 'system', subtype: 'status', status: `${'x'.repeat(180)} ${TOKEN}`, session_id: 's' },
  { type: 'user', message: { role: 'user', content: `my token is ${TOKEN}` } },
  ...PIECES,
  toAnswer('m1', { type: 'text', text: `use ${TOKEN} now` }),
  toAnswer('m1', {
    type: 'tool_use',
    id: 't1',
    name: 'Bash',
    input: { command: `export GITHUB=${'y'.repeat(20)} T=${TOKEN}` },
  }),
  {
    type: 'user',
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't1', content: `ok ${TOKEN}`, is_error: true }],
    },
  },
  { type: 'result', subtype: 'success', is_error: false, result: `done with ${TOKEN}`, total_cost_usd: 0.5 },
]);
const CODEX_STREAM = toLines([
  { type: 'thread.started', thread_id: 'c' },
  { type: 'item.updated', item: { id: 'i', type: 'agent_message', text: `use ${TOKEN.slice(0, 20)}` } },
  { type: 'item.completed', item: { id: 'i', type: 'agent_message', text: `use ${TOKEN}` } },
  { type: 'turn.completed', usage: { input_tokens: 3, cached_input_tokens: 1, output_tokens: 2 } },
]);

async function read(agent: string, bytes: Buffer, redaction: 'off' | 'rows', chunkBytes: number) {
  const reader = await createStreamReader({ agent, redaction, now: () => 0 });
  const events: AgentEvent[] = [];
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    events.push(...(await reader.push(bytes.subarray(start, start + chunkBytes))));
  }
  events.push(...(await reader.finish()));
  return { events, text: JSON.stringify(events), summary: reader.toSummary() };
}

it.each([
  ['claude-code', CLAUDE_STREAM],
  ['codex', CODEX_STREAM],
])('emits nothing of a secret of %s, wherever the chunks are split', async (agent, bytes) => {
  const plain = await read(agent, bytes, 'off', bytes.length);
  expect(plain.text).toContain(TOKEN);
  for (const chunkBytes of [7, 100, bytes.length]) {
    const { events, text, summary } = await read(agent, bytes, 'rows', chunkBytes);
    expect(text).not.toContain(TOKEN.slice(0, 8));
    expect(text).not.toContain(TOKEN.slice(-8));
    expect(text).toContain('[REDACTED:github]');
    const isWhole = ({ type, name }: { type: string; name?: string }) =>
      !(type === 'progress' && ['text', 'agent_message'].includes(name ?? ''));
    expect(events.map(({ type }) => type)).toEqual(plain.events.filter(isWhole).map(({ type }) => type));
    expect(summary).toEqual(plain.summary);
  }
});

it('emits nothing of a secret in a text that arrives in pieces only', async () => {
  const plain = await read('claude-code', toLines(PIECES), 'off', 1000);
  expect(plain.events.at(-1)).toMatchObject({ type: 'text', text: `use ${TOKEN} now`, wasStreamed: true });
  const { events } = await read('claude-code', toLines(PIECES), 'rows', 1000);
  expect(events).toMatchObject([{ type: 'text', text: 'use [REDACTED:github] now', wasStreamed: false }]);
});
