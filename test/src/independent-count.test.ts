import { describe, expect, it } from 'vitest';
import { countTranscript } from './independent-count.ts';

const encode = (...lines: (string | object)[]) =>
  new TextEncoder().encode(lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));

const usage = (output: number, cacheRead = 0) => ({
  input_tokens: 3,
  output_tokens: output,
  cache_read_input_tokens: cacheRead,
  cache_creation_input_tokens: 40,
});

const assistant = (id: string | undefined, content: unknown, tokens: object) => ({
  type: 'assistant',
  message: { ...(id === undefined ? {} : { id }), role: 'assistant', content, usage: tokens },
});

const user = (content: unknown) => ({ type: 'user', message: { role: 'user', content } });

const progress = (id: string, tokens: object, type = 'agent_progress') => ({
  type: 'progress',
  data: { type, message: { type: 'assistant', message: { id, usage: tokens } } },
});

describe('countTranscript', () => {
  it('adds the responses that only progress lines contain', () => {
    const count = countTranscript(
      encode(
        assistant('msg_a', 'x', usage(10)),
        progress('msg_a', usage(99)),
        progress('msg_b', usage(1)),
        progress('msg_b', usage(5)),
        progress('msg_c', usage(7), 'bash_progress'),
      ),
    );
    expect(count).toMatchObject({
      progressResponses: 1,
      assistantMessages: 1,
      messages: 1,
      tokensIn: 6,
      tokensOut: 15,
      tokensOutOfMessages: 10,
      cacheWrite: 80,
      outputFirstLine: 11,
      outputSummed: 16,
    });
    expect([...count.perMessageId.keys()]).toEqual(['msg_a']);
  });

  it('makes one message of the assistant lines that share an id, also around a tool result', () => {
    const count = countTranscript(
      encode(
        user('why does it fail?'),
        assistant(
          'msg_a',
          [
            { type: 'thinking', thinking: 'hm' },
            { type: 'redacted_thinking', data: 'x' },
          ],
          usage(2, 500),
        ),
        assistant('msg_a', [{ type: 'tool_use', id: 't1', name: 'Bash', input: {} }], usage(2, 500)),
        user([{ type: 'tool_result', tool_use_id: 't1', content: 'no' }]),
        assistant('msg_a', [{ type: 'tool_use', id: 't2', name: 'Task', input: {} }], usage(70, 500)),
        assistant('msg_b', [{ type: 'tool_use', id: 't3', name: 'Agent', input: {} }], usage(9)),
        assistant(undefined, 'done', usage(5)),
      ),
    );
    expect(count).toMatchObject({
      messages: 5,
      userMessages: 2,
      assistantMessages: 3,
      toolUses: 3,
      thinkingBlocks: 2,
      subagents: 2,
      tokensIn: 9,
      tokensOut: 84,
      cacheRead: 500,
      cacheWrite: 120,
      outputFirstLine: 2 + 9 + 5,
      outputSummed: 2 + 2 + 70 + 9 + 5,
      blocksByType: { text: 2, thinking: 1, redacted_thinking: 1, tool_use: 3, tool_result: 1 },
      contentBlocks: 8,
    });
    expect([...count.perMessageId]).toEqual([
      ['msg_a', { input: 3, output: 70, cacheRead: 500, cacheWrite: 40, lines: 3 }],
      ['msg_b', { input: 3, output: 9, cacheRead: 0, cacheWrite: 40, lines: 1 }],
    ]);
  });

  it('takes the maximum of each usage field separately', () => {
    const count = countTranscript(
      encode(assistant('msg_a', null, usage(90, 10)), assistant('msg_a', null, usage(8, 800))),
    );
    expect(count).toMatchObject({ tokensOut: 90, cacheRead: 800, contentBlocks: 0 });
  });

  it('counts the text of user, summary and system lines, and nothing for empty or absent content', () => {
    const count = countTranscript(
      encode(
        user(''),
        user(null),
        user(['not an object', { type: 'image' }, { text: 'typeless' }]),
        { type: 'user' },
        { type: 'summary', summary: 'Billing bug', leafUuid: 'u' },
        { type: 'summary', message: { content: 'older shape' } },
        { type: 'system', subtype: 'local_command', content: 'ok' },
        { type: 'system', subtype: 'turn_duration', durationMs: 5 },
      ),
    );
    expect(count).toMatchObject({ messages: 8, userMessages: 4, summaryMessages: 2, systemMessages: 2 });
    expect(count.blocksByType).toEqual({ image: 1, unknown: 1, text: 3 });
  });

  it('counts metadata lines as no message, and reports lines that are not JSON or have no type', () => {
    const count = countTranscript(
      encode(
        '// a comment',
        '',
        '   ',
        { type: 'mode', mode: 'normal' },
        { message: {} },
        '[1]',
        '{"type":"user"',
        '7',
      ),
    );
    expect(count).toMatchObject({ messages: 0, invalidJsonLines: 2, missingTypeLines: 3 });
  });

  it('reads JSON objects concatenated on one line, and those before a truncated one', () => {
    const glued = JSON.stringify(user('a }{ b')) + JSON.stringify(user('c')) + JSON.stringify(user('d'));
    expect(countTranscript(encode(glued))).toMatchObject({ userMessages: 3, invalidJsonLines: 0 });
    expect(countTranscript(encode(glued.slice(0, -3)))).toMatchObject({ userMessages: 2, invalidJsonLines: 1 });
  });

  it('gives the earliest and latest time of any line in UTC, whatever their order', () => {
    const at = (timestamp: unknown, type = 'user') => ({ type, timestamp });
    const count = countTranscript(
      encode(
        at('2026-03-02T09:00:05.000Z'),
        at('2026-03-02T09:00:04.000Z'),
        at('2026-03-02T10:59:59.000+02:00', 'assistant'),
        at('2026-03-02T10:00:00.000Z'),
        at('2026-03-02T12:00:00.000Z', 'progress'),
        at('not a time'),
        at(7),
      ),
    );
    expect(count).toMatchObject({
      firstTimestamp: '2026-03-02T08:59:59.000Z',
      lastTimestamp: '2026-03-02T12:00:00.000Z',
    });
    expect(countTranscript(encode(user('x')))).toMatchObject({ firstTimestamp: null, lastTimestamp: null });
  });
});
