import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { assistantLine, toJsonl, toUsageFields } from '../../testing/transcript-lines.ts';

const SESSION = '11111111-2222-4333-8444-555555555555';

export function initLine(fields: JsonObject = {}): JsonObject {
  const init = { type: 'system', subtype: 'init', session_id: SESSION, tools: ['Read', 'Bash'], cwd: '/srv/app' };
  return { ...init, model: 'claude-opus-4-8', claude_code_version: '2.1.116', ...fields };
}

export function toolUse(id: string, name: string, input: JsonValue): JsonObject {
  return { type: 'tool_use', id, name, input };
}

export function toolResult(id: string, content: JsonValue, fields: JsonObject = {}): JsonObject {
  return { type: 'tool_result', tool_use_id: id, content, ...fields };
}

export function resultLine(fields: JsonObject = {}): JsonObject {
  const result = { type: 'result', subtype: 'success', is_error: false, duration_ms: 1500, result: 'Done.' };
  return { ...result, total_cost_usd: 0.015, usage: toUsageFields(10, 60), permission_denials: [], ...fields };
}

/** A line of `--include-partial-messages`. */
export function streamEvent(event: JsonObject, parent: string | null = null): JsonObject {
  return { type: 'stream_event', event, session_id: SESSION, parent_tool_use_id: parent };
}

export function textDelta(text: string, index = 0): JsonObject {
  return streamEvent({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } });
}

export function messageStart(id: string): JsonObject {
  return streamEvent({ type: 'message_start', message: { id, model: 'claude-opus-4-8', usage: toUsageFields(10, 1) } });
}

/** One line of every kind, with non-ASCII text. */
export const claudeStream: readonly JsonObject[] = [
  { type: 'system', subtype: 'hook_started', hook_name: 'SessionStart:startup', session_id: SESSION },
  initLine(),
  { type: 'user', uuid: 'u-1', message: { role: 'user', content: 'Prüfe die Zähler 👩‍👩‍👧' }, session_id: SESSION },
  messageStart('msg_1'),
  textDelta('Ich '),
  textDelta('prüfe 日本語.'),
  assistantLine('msg_1', [{ type: 'text', text: 'Ich prüfe 日本語.' }], { usage: toUsageFields(10, 1) }),
  assistantLine('msg_1', [toolUse('t1', 'Read', { file_path: '/srv/app/größe.ts' })], { usage: toUsageFields(10, 1) }),
  streamEvent({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: toUsageFields(10, 42) }),
  { type: 'user', message: { role: 'user', content: [toolResult('t1', [{ type: 'text', text: 'Zeile 1' }])] } },
  { type: 'tool_progress', tool_use_id: 't1', tool_name: 'Read' },
  { type: 'never-seen-before', payload: { deep: [1, 2] } },
  assistantLine('msg_2', [
    toolUse('t2', 'AskUserQuestion', { questions: [{ question: 'Weiter?', options: [{ label: 'Ja' }] }] }),
  ]),
  { type: 'user', message: { role: 'user', content: [toolResult('t3', 'kam zu früh', { is_error: 'true' })] } },
  assistantLine('msg_3', [toolUse('t3', 'Bash', { command: 'ls' })], {
    usage: toUsageFields(5, 7),
    stop_reason: 'tool_use',
  }),
  assistantLine('msg_4', [{ type: 'text', text: 'Fertig 🎉' }], {
    usage: toUsageFields(3, 11),
    stop_reason: 'end_turn',
  }),
  resultLine({
    total_cost_usd: '0.02',
    permission_denials: [{ tool_name: 'Write', tool_use_id: 't9', tool_input: {} }],
  }),
];

export const codexStream: readonly JsonObject[] = [
  { type: 'thread.started', thread_id: 'thread-1' },
  { type: 'turn.started' },
  { type: 'item.completed', item: { id: 'item_0', type: 'reasoning', text: 'Erst schauen' } },
  {
    type: 'item.started',
    item: { id: 'item_1', type: 'command_execution', command: 'ls', aggregated_output: '', status: 'in_progress' },
  },
  {
    type: 'item.completed',
    item: {
      id: 'item_1',
      type: 'command_execution',
      command: 'ls',
      aggregated_output: 'a\nb\n',
      exit_code: 0,
      status: 'completed',
    },
  },
  { type: 'item.completed', item: { id: 'item_2', type: 'future_item', foo: 'bär' } },
  { type: 'item.completed', item: { id: 'item_3', type: 'agent_message', text: 'Zwei Dateien 🎉' } },
  { type: 'turn.completed', usage: { input_tokens: 100, cached_input_tokens: 60, output_tokens: 20 } },
];

export const ampStream: readonly JsonObject[] = [
  { type: 'system', subtype: 'init', session_id: 'T-1', tools: ['shell_command'], mcp_servers: [] },
  { type: 'user', message: { role: 'user', content: [{ type: 'text', text: 'Zähle' }] }, session_id: 'T-1' },
  {
    type: 'assistant',
    message: {
      role: 'assistant',
      content: [{ type: 'text', text: 'Ich zähle' }, toolUse('TU-1', 'shell_command', { command: 'wc -l' })],
      stop_reason: 'tool_use',
      usage: toUsageFields(0, 9, 5, 100),
    },
  },
  {
    type: 'user',
    message: {
      role: 'user',
      content: [toolResult('TU-1', '{"output":"nicht da\\n","exitCode":1}', { is_error: false })],
    },
  },
  {
    type: 'assistant',
    message: {
      role: 'assistant',
      content: [{ type: 'text', text: 'Fertig' }],
      stop_reason: 'end_turn',
      usage: toUsageFields(0, 3, 105, 2),
    },
  },
  { type: 'result', subtype: 'success', duration_ms: 900, is_error: false, num_turns: 2, result: 'Fertig' },
];

export function toBytes(lines: readonly JsonObject[]): Buffer {
  return Buffer.from(toJsonl(...lines));
}
