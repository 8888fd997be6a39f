import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../lines/json.ts';
import { readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';
import { UNREAD_TYPES } from './unread-types.ts';

const envelope = {
  sessionId: '4b2f4b1e-0000-4000-8000-000000000001',
  cwd: '/home/ada/my own small app',
  version: '2.1.332',
};
const user = { ...envelope, type: 'user', uuid: 'u-1', message: { role: 'user', content: 'Look' } };
const issuesOf = async (...lines: JsonObject[]) => {
  const { errors, warnings, notices } = await readTranscript(toJsonLines([user, ...lines]));
  expect([...errors, ...warnings]).toEqual([]);
  return notices.map(({ code, error, count }) => `${count} ${code}: ${error}`);
};

describe('the list of what Claude Code writes and recount does not read', () => {
  const toLine = (name: string): JsonObject => {
    const [type = '', part] = name.replace('*', 'x').split('/');
    if (type === 'attachment')
      return {
        ...envelope,
        type,
        attachment: { type: part ?? '' },
        ...(part !== 'none' && { rendered: [{ content: 'Some words of it' }] }),
      };
    return type === 'progress'
      ? { ...envelope, type, data: { type: part ?? '' } }
      : { ...envelope, type, subtype: part ?? 'success' };
  };

  it('accepts each of its types without an issue', async () => {
    const session = Object.keys(UNREAD_TYPES).filter((name) => !name.startsWith('system/'));
    expect(await issuesOf(...session.map(toLine))).toEqual([]);
  });

  it('names text and usage that a known type does not usually hold', async () => {
    const line = { ...envelope, type: 'tools-used', tools: ['Read'], note: 'a b c d', usage: { input_tokens: 5 } };
    expect(await issuesOf(line, line)).toEqual([
      '2 unread_content: Usage that is not counted, in lines of type tools-used',
      '2 unread_content: Text that is not shown, in lines of type tools-used',
    ]);
  });

  it('names unknown types of lines, attachments, progress and system lines, once for each', async () => {
    const text = 'It says some words';
    const unknown = [
      { ...envelope, type: 'heron', text, usage: { output_tokens: 4 } },
      { ...envelope, type: 'attachment', attachment: { type: 'heron', text } },
      { ...envelope, type: 'progress', data: { type: 'heron' } },
      { ...envelope, type: 'system', subtype: 'heron', content: text },
    ];
    expect(await issuesOf(...unknown, ...unknown)).toEqual([
      '2 unknown_line_type: Unknown line type: heron',
      '2 unread_content: Usage that is not counted, in lines of type heron',
      '2 unread_content: Text that is not shown, in lines of type heron',
      '2 unknown_line_type: Unknown line type: attachment/heron',
      '2 unread_content: Text that is not shown, in lines of type attachment/heron',
      '2 unknown_line_type: Unknown line type: progress/heron',
      '2 unknown_line_type: Unknown line type: system/heron',
    ]);
  });
});
