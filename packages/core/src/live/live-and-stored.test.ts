import { expect, it } from 'vitest';
import type { JsonObject } from '../lines/json.ts';
import { parseTranscript } from '../parse/parse-transcript.ts';
import type { TokenSums } from '../records/rows.ts';
import { toJsonLines } from '../testing/agent-transcripts.ts';
import { parserFor } from './parser-for.ts';

/** The same run as printed and as stored by its agent, and its usage. */
interface Run {
  command: string;
  streamFormat: string;
  stream: JsonObject[];
  storedFormat: string;
  stored: string;
  tokens: TokenSums;
}

const THREAD = '0199a213-81c0-7800-8aa1-bbab2a035a54';
const at = (second: number) => new Date(Date.UTC(2026, 4, 12, 8, 0, second)).toISOString();

function toCodexRun(): Run {
  const tokens = (input: number, cached: number, output: number, reasoning: number) => ({
    ...{ input_tokens: input, cached_input_tokens: cached, output_tokens: output },
    ...{ reasoning_output_tokens: reasoning, total_tokens: input + output },
  });
  const line = (second: number, type: string, payload: JsonObject) => ({ timestamp: at(second), type, payload });
  const item = (second: number, payload: JsonObject) => line(second, 'response_item', payload);
  const count = (second: number, last: JsonObject, total: JsonObject) => {
    const info = { last_token_usage: last, total_token_usage: total };
    return line(second, 'event_msg', { type: 'token_count', info });
  };
  const first = tokens(1000, 600, 50, 20);
  const second = tokens(1500, 1000, 30, 0);
  const total = tokens(2500, 1600, 80, 20);
  const execution = {
    id: 'item_0',
    type: 'command_execution',
    command: 'ls',
    exit_code: 0,
    aggregated_output: 'heron',
  };
  return {
    command: 'codex',
    streamFormat: 'codex-exec',
    stream: [
      { type: 'thread.started', thread_id: THREAD },
      { type: 'turn.started' },
      { type: 'item.started', item: { ...execution, status: 'in_progress' } },
      { type: 'item.completed', item: { ...execution, status: 'completed' } },
      { type: 'item.completed', item: { id: 'item_1', type: 'agent_message', text: 'There it stands' } },
      { type: 'turn.completed', usage: total },
    ],
    storedFormat: 'codex-rollout',
    stored: toJsonLines([
      line(0, 'session_meta', { id: THREAD, timestamp: at(0), cwd: '/app', cli_version: '0.140.0' }),
      line(1, 'turn_context', { turn_id: '0199a213-81c1-7800-8aa1-bbab2a035a54', model: 'gpt-5', cwd: '/app' }),
      item(2, { type: 'function_call', name: 'shell', call_id: 'call_1', arguments: '{"command":["ls"]}' }),
      count(2, first, first),
      item(3, { type: 'function_call_output', call_id: 'call_1', output: 'heron' }),
      // Repeated, as happens when rate limits change.
      count(3, first, first),
      item(4, { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'There it stands' }] }),
      count(4, second, total),
    ]),
    tokens: { tokens_in: 900, tokens_out: 80, cache_read: 1600, cache_write: 0 },
  };
}

function toAmpRun(): Run {
  const id = 'T-019b0000-0000-7000-8000-000000000009';
  const call = { type: 'tool_use', id: 'TU-1', name: 'Bash', input: { cmd: 'ls' } };
  const answer = { type: 'text', text: 'There it stands' };
  const spoken = (block: JsonObject, input: number, output: number, read: number, write: number) => ({
    ...{ type: 'assistant', session_id: id, parent_tool_use_id: null },
    message: {
      ...{ role: 'assistant', content: [block] },
      usage: {
        ...{ input_tokens: input, output_tokens: output },
        ...{ cache_read_input_tokens: read, cache_creation_input_tokens: write },
      },
    },
  });
  const kept = (block: JsonObject, second: number, input: number, output: number, read: number, write: number) => ({
    ...{ role: 'assistant', messageId: second, content: [block] },
    usage: {
      ...{ model: 'claude-haiku-4-5-20251001', timestamp: at(second), inputTokens: input, outputTokens: output },
      ...{ cacheReadInputTokens: read, cacheCreationInputTokens: write },
    },
  });
  const prompt = { role: 'user', content: [{ type: 'text', text: 'Find the heron' }] };
  const result = { type: 'tool_result', tool_use_id: 'TU-1', content: '{"output":"heron","exitCode":0}' };
  const run = { status: 'done', result: { output: 'heron', exitCode: 0 } };
  return {
    command: 'amp',
    streamFormat: 'amp-stream-json',
    stream: [
      { type: 'system', subtype: 'init', session_id: id, cwd: '/app', tools: ['Bash'] },
      { type: 'user', session_id: id, message: prompt },
      spoken(call, 10, 178, 11_372, 986),
      { type: 'user', session_id: id, message: { role: 'user', content: [result] } },
      spoken(answer, 4, 20, 12_358, 64),
      { type: 'result', subtype: 'success', session_id: id, is_error: false, num_turns: 2, result: 'There it stands' },
    ],
    storedFormat: 'amp-thread',
    stored: JSON.stringify({
      ...{ v: 9, id, created: Date.parse(at(0)) },
      messages: [
        prompt,
        kept(call, 2, 10, 178, 11_372, 986),
        { role: 'user', content: [{ type: 'tool_result', toolUseID: 'TU-1', run }] },
        kept(answer, 4, 4, 20, 12_358, 64),
      ],
    }),
    tokens: { tokens_in: 14, tokens_out: 198, cache_read: 23_730, cache_write: 1050 },
  };
}

async function countStored(text: string, format: string): Promise<TokenSums> {
  const { stats, errors, warnings } = await parseTranscript('s', Buffer.from(text), { format });
  expect([...errors, ...warnings]).toEqual([]);
  const { tokens_in, tokens_out, cache_read, cache_write } = stats;
  return {
    tokens_in: tokens_in ?? 0,
    tokens_out: tokens_out ?? 0,
    cache_read: cache_read ?? 0,
    cache_write: cache_write ?? 0,
  };
}

it.each([toCodexRun(), toAmpRun()])(
  'the live view of a run of $command equals what its stream and its own file count',
  async ({ command, stream, streamFormat, stored, storedFormat, tokens }) => {
    const parser = parserFor(command, { now: () => 0 });
    parser?.push(toJsonLines(stream));
    parser?.finish();
    expect(parser?.toSummary().tokens).toEqual(tokens);
    expect(await countStored(toJsonLines(stream), streamFormat)).toEqual(tokens);
    expect(await countStored(stored, storedFormat)).toEqual(tokens);
  },
);
