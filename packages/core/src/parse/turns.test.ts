import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../lines/json.ts';
import { toReusedChunks } from '../testing/chunked-inputs.ts';
import { assistantLine, toJsonl, toUsageFields, userLine } from '../testing/transcript-lines.ts';
import { parseTranscript } from './parse-transcript.ts';

const answer = (id: string, call?: JsonObject, fields: JsonObject = {}) =>
  assistantLine(
    `msg_${id.padEnd(24, '0')}`,
    call === undefined ? 'ok' : [{ type: 'tool_use', id: `toolu_${id.padEnd(24, '0')}`, ...call }],
    { model: 'm', usage: toUsageFields(1, 1) },
    fields,
  );
const edit = { name: 'Edit', input: { file_path: '/a/x.ts', old_string: 'a', new_string: 'b' } };
const read = { name: 'Read', input: { file_path: '/a/x.ts' } };

const lines = [
  answer('0'),
  userLine('Look', { uuid: 'u1' }),
  answer('1', read),
  answer('2', edit, { isSidechain: true }),
  userLine('Within', { uuid: 'u2', isSidechain: true }),
  answer('3', read),
  userLine('Without an answer', { uuid: 'u3' }),
  userLine('Thanks', { uuid: 'u4' }),
  answer('4'),
];

describe('turns', () => {
  it('end at the next prompt of the main conversation, with the responses of sub-agents in them', async () => {
    const { events, apiResponses } = await parseTranscript('s', Buffer.from(toJsonl(...lines)));
    expect(events.filter(({ kind }) => kind === 'turn').map((turn) => [turn.line_number, turn.name])).toEqual([
      [0, 'conversation'],
      [2, 'coding'],
      [8, 'conversation'],
    ]);
    expect(apiResponses.map((response) => response.turn_line)).toEqual([0, 2, 2, 2, 8]);
  });

  it.each([1, 7, 64 * 1024])('are the same in chunks of %d bytes', async (chunkBytes) => {
    const bytes = Buffer.from(toJsonl(...lines));
    const whole = await parseTranscript('s', bytes);
    const { events, apiResponses } = await parseTranscript('s', toReusedChunks(bytes, chunkBytes));
    expect({ events, apiResponses }).toEqual({ events: whole.events, apiResponses: whole.apiResponses });
  });
});
