import type { LiveEvent } from '@recount/contract';
import { describe, expect, it } from 'vitest';
import { addToStory, EMPTY_STORY } from './live-story.ts';

let nextId = 1;
const toEvent = (event: LiveEvent['event'], data: object): LiveEvent =>
  ({
    id: nextId++,
    event,
    data: { sessionId: 's', streamId: 'a', timestamp: '2026-01-01T00:00:00Z', ...data },
  }) as LiveEvent;
const tell = (...events: LiveEvent[]) => events.reduce(addToStory, EMPTY_STORY);
const piece = (content: string, fields = {}) =>
  toEvent('stream:chunk', { content, isPartial: true, wasStreamed: false, ...fields });

describe('addToStory', () => {
  it('appends the pieces of a text, until the whole replaces them', () => {
    expect(tell(piece('I '), piece('look'), piece('other', { streamId: 'b' })).items).toMatchObject([
      { kind: 'answer', text: 'I look', isPartial: true },
      { text: 'other', streamId: 'b' },
    ]);
    const whole = toEvent('stream:chunk', { content: 'I look.', isPartial: false, wasStreamed: true });
    expect(tell(piece('I '), piece('look'), whole).items.map((item) => 'text' in item && item.text)).toEqual([
      'I look.',
    ]);
  });

  it('puts results with their calls', () => {
    const call = toEvent('stream:tool', {
      toolUse: { id: 't', name: 'Bash', input: { command: 'ls' }, summary: 'ls' },
    });
    const result = { toolUseId: 't', toolName: 'Bash', output: 'no', isError: true, error: 'not found', durationMs: 3 };
    const { items } = tell(call, toEvent('stream:tool', { toolResult: result }));
    expect(items).toMatchObject([
      { kind: 'tool', step: { use: { tool_name: 'Bash' }, result: { result_text: 'not found', is_error: true } } },
    ]);
  });

  it('shows activity, keeps failures, and knows which stream has ended', () => {
    const progress = (name: string, text: string, isError = false) =>
      toEvent('stream:progress', { name, text, isError, isKnown: true });
    const story = tell(
      progress('user', 'Fix it'),
      progress('thinking', 'Hm'),
      progress('retry', 'overloaded', true),
      progress('system/status', 'compacting'),
    );
    expect(story.items.map(({ kind }) => kind)).toEqual(['prompt', 'thinking', 'notice']);
    expect(story.status).toBe('compacting');
    expect(addToStory(story, toEvent('stream:end', {}))).toMatchObject({ status: '', endedStreamIds: ['a'] });
  });

  it('keeps the newest if there are very many', () => {
    const story = tell(
      ...Array.from({ length: 1000 }, (_, index) => toEvent('stream:chunk', { content: `${index}`, isPartial: false })),
    );
    expect(story.items.length + story.droppedCount).toBe(1000);
    expect(story.items.at(-1)).toMatchObject({ text: '999' });
  });
});
