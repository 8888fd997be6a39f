import { describe, expect, it } from 'vitest';
import { toConversation } from './conversation.ts';
import { addLiveEvent, type LiveConversation, NO_LIVE_CONVERSATION } from './live-conversation.ts';
import type { FollowedEvent } from './live-events.ts';

type Fields = { type: FollowedEvent['type']; stream_id?: string } & Record<string, unknown>;

function follow(events: readonly Fields[], conversation = NO_LIVE_CONVERSATION): LiveConversation {
  const line = { session_id: 's', stream_id: 'a', timestampMs: 0, lineNumber: 1, isLarge: false };
  return events.reduce(
    (all, fields, index) => addLiveEvent(all, `${index}`, { ...line, ...fields } as unknown as FollowedEvent),
    conversation,
  );
}
const read = (...events: Fields[]) => toConversation(follow(events).messages);
const textsOf = (...events: Fields[]) =>
  follow(events).messages.map(({ content_blocks: [block] }) => block?.content_text);

const piece = (text: string, fields: object = {}): Fields => ({ ...progress('text', text), ...fields });
const progress = (name: string, text: string, isError = false): Fields => ({ type: 'progress', name, text, isError });
const call = (fields: object = {}): Fields => ({
  ...{ type: 'tool-start', toolId: 't', toolName: 'Bash', toolKind: 'shell', toolInput: 'ls' },
  input: { command: 'ls' },
  ...fields,
});
const result = (fields: object = {}): Fields => ({
  ...{ type: 'tool-end', toolId: 't', toolName: 'Bash', toolOutput: 'a.ts', toolError: null, durationMs: 3 },
  ...fields,
});

describe('the conversation of a running agent', () => {
  it('appends the pieces of a text until the whole replaces them', () => {
    expect(textsOf(piece('I'), piece(' '), piece('look'), piece('other', { stream_id: 'b' }))).toEqual([
      'I look',
      'other',
    ]);
    const whole: Fields = { type: 'text', text: 'I look.', wasStreamed: true };
    expect(textsOf(piece('I '), piece('look'), whole)).toEqual(['I look.']);
    expect(textsOf(piece('main'), piece('sub', { parentToolUseId: 't' }), whole)).toEqual(['sub', 'I look.']);
  });

  it('equals a stored one, where calls have their results, and prompts and answers are turns', () => {
    const turns = read(
      progress('user', 'List it'),
      progress('thinking', 'Hm'),
      call(),
      { type: 'text', text: 'Meanwhile', wasStreamed: false },
      result({ toolError: 'not found', timestampMs: 3 }),
    );
    expect(turns.map(({ kind, steps }) => [kind, steps.map((step) => step.kind)])).toEqual([
      ['prompt', ['text']],
      ['answer', ['thinking']],
      ['answer', ['tool']],
      ['answer', ['text']],
    ]);
    expect(turns[2]?.steps[0]).toMatchObject({
      use: { tool_name: 'Bash', tool_kind: 'shell', tool_input: { command: 'ls' } },
      result: { result_text: 'not found', is_error: true },
      resultMessage: { timestamp: '1970-01-01T00:00:00.003Z' },
    });
  });

  it('shows the short input of a call whose input was left out', () => {
    expect(read(call({ input: null }))[0]?.steps[0]).toMatchObject({ use: { tool_input: 'ls' } });
  });

  it('shows activity, keeps failures, and knows which stream has ended', () => {
    const events = [progress('retry', 'overloaded', true), progress('system/status', 'compacting')];
    expect(follow(events)).toMatchObject({ status: 'compacting', messages: [{ message_type: 'system' }] });
    expect(follow([...events, progress('hook', ' ')])).toMatchObject({ status: 'hook' });
    expect(follow([...events, { type: 'close' }])).toMatchObject({ status: '', endedStreamIds: ['a'] });
    expect(textsOf({ type: 'result', error: 'gave up' }, { type: 'result', error: null })).toEqual(['gave up']);
  });

  it('shows what the agent asks, unless the call shows it', () => {
    const options = [{ label: 'A', description: null }];
    const question = { kind: 'question', toolUseId: 't', questions: [{ question: 'Which?', options }] };
    const asks = {
      kind: 'confirmation',
      reason: 'permission_request',
      toolUseId: 't',
      toolName: 'Bash',
      message: null,
    };
    expect(textsOf({ type: 'prompt', prompt: question })).toEqual(['QUESTION: Which? [A]']);
    expect(textsOf(call(), { type: 'prompt', prompt: question }, { type: 'prompt', prompt: asks })).toEqual([
      null,
      'ASKS: Bash',
    ]);
  });

  it('leaves out events that a newer server may send', () => {
    expect(follow([{ type: 'novel' as 'text' }])).toBe(NO_LIVE_CONVERSATION);
  });

  it('keeps the newest if there are very many', () => {
    const texts = Array.from({ length: 1000 }, (_, index): Fields => ({ type: 'text', text: `${index}` }));
    const { messages, droppedCount } = follow(texts);
    expect(messages.length + droppedCount).toBe(1000);
    expect(messages.at(-1)?.content_blocks[0]).toMatchObject({ content_text: '999' });
  });
});
