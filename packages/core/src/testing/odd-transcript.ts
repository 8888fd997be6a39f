import type { JsonObject } from '../lines/json.ts';
import { assistantLine, toUsageFields, userLine } from './transcript-lines.ts';

const at = (second: number): JsonObject => ({
  timestamp: new Date(Date.UTC(2025, 5, 1) + second * 1000).toISOString(),
});

const records: readonly (JsonObject | string)[] = [
  { type: 'summary', summary: 'Größe der Datei' },
  userLine('Hello 👋 wörld \u2028 and \u2029', {
    ...at(3),
    uuid: 'u1',
    cwd: '/srv/app',
    sessionId: 's1',
    version: '2.1.0',
  }),
  '',
  assistantLine('msg_1', [{ type: 'text', text: 'Ich prüfe 日本語 🎉' }], { usage: toUsageFields(10, 1, 5, 7) }, at(4)),
  userLine([{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'a' }, 'b'] }], at(2)),
  assistantLine(
    'msg_1',
    [{ type: 'tool_use', id: 't1', name: 'Task', input: { prompt: 'é'.repeat(80) } }],
    { usage: toUsageFields(10, 40, 5, 7), stop_reason: 'tool_use' },
    at(1),
  ),
  '   \t\r',
  `${JSON.stringify(userLine('with a carriage return'))}\r`,
  '{"type":"user","message":{"content":"nul \\u0000 and half \\ud83d a pair"}}',
  '{"type":"user","message":{"content":"one"}}{"type":"system","content":"two"}',
  '{"type":"progress","data":{}}',
  '{"type":"never-seen-before"}',
  '{"no":"type"}',
  '// a comment',
  userLine('x'.repeat(700)),
  '\uFEFF{"type":"queue-operation","operation":"enqueue"}',
  assistantLine('msg_2', 'plain', { usage: { input_tokens: -1, output_tokens: 'many' } }, { timestamp: 'yesterday' }),
];

/**
 * A transcript with nearly every known oddity, for lines of at most 600 bytes. It has several objects on a line,
 * invalid UTF-8, byte order marks, CRLF, a line too long, a message that continues later, an incomplete last line that
 * ends within a character.
 */
export const oddTranscript: Uint8Array = Buffer.concat([
  Buffer.from([0xef, 0xbb, 0xbf]),
  Buffer.from(records.map((record) => (typeof record === 'string' ? record : JSON.stringify(record))).join('\n')),
  Buffer.from('\n{"type":"user","message":{"content":"invalid: '),
  Buffer.from([0xc3, 0x28, 0xff, 0xf0, 0x9f]),
  Buffer.from('"}}\n{"type":"user","message":{"content":"torn 🎉').subarray(0, -2),
]);

export const ODD_MAX_LINE_BYTES = 600;
