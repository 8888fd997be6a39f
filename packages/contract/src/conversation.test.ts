import { describe, expect, it } from 'vitest';
import { describeToolInput, toConversation } from './conversation.ts';
import type { ContentBlock, Message } from './messages.ts';

const block = (fields: Partial<ContentBlock>): ContentBlock => ({
  id: 'b',
  block_order: 0,
  block_type: 'text',
  content_text: null,
  thinking_text: null,
  tool_name: null,
  tool_kind: null,
  tool_use_id: null,
  tool_input: null,
  tool_result_id: null,
  is_error: null,
  result_text: null,
  metadata: {},
  line_number: 1,
  byte_offset: 0,
  byte_length: 1,
  ...fields,
});
const text = (content_text: string) => block({ content_text });
const use = (tool_use_id: string) => block({ block_type: 'tool_use', tool_name: 'Bash', tool_use_id });
const result = (tool_result_id: string, result_text = 'done') =>
  block({ block_type: 'tool_result', tool_result_id, result_text });
const message = (
  message_type: Message['message_type'],
  content_blocks: ContentBlock[],
  fields: Partial<Message> = {},
) =>
  ({
    message_type,
    content_blocks,
    metadata: {},
    timestamp: '2026-01-01T00:00:00.000Z',
    is_sidechain: false,
    ...fields,
  }) as Message;

describe('toConversation', () => {
  it('puts results with their calls, and drops messages that held nothing else', () => {
    const turns = toConversation([
      message('user', [text('Fix it')]),
      message('assistant', [text('I will look.'), use('a'), use('b')]),
      message('user', [result('a', 'one')]),
      message('user', [result('b', 'two'), text('And hurry')]),
      message('assistant', [use('never')]),
    ]);
    expect(turns.map(({ kind, steps }) => [kind, steps.map((step) => step.kind)])).toEqual([
      ['prompt', ['text']],
      ['answer', ['text', 'tool', 'tool']],
      ['prompt', ['text']],
      ['answer', ['tool']],
    ]);
    expect(turns[1]?.steps.slice(1)).toMatchObject([
      { result: { result_text: 'one' } },
      { result: { result_text: 'two' } },
    ]);
    expect(turns[3]?.steps[0]).not.toHaveProperty('result');
  });

  it('keeps results without a call, and the second result of one call', () => {
    const turns = toConversation([
      message('user', [result('before')]),
      message('assistant', [use('a')]),
      message('user', [result('a'), result('a', 'again')]),
    ]);
    expect(turns.map(({ kind, steps }) => [kind, steps.map((step) => step.kind)])).toEqual([
      ['context', ['result']],
      ['answer', ['tool']],
      ['context', ['result']],
    ]);
  });

  it('keeps a message whose shown parts are empty if others are left out', () => {
    const turns = toConversation([
      message('user', [text(' ')], { left_out_block_count: 2 }),
      message('assistant', [use('a')], { left_out_block_count: 3 }),
      message('user', [result('a')], { left_out_block_count: 4 }),
      message('user', [text(' ')], { left_out_block_count: 0 }),
    ]);
    expect(turns.map(({ kind, leftOutCount }) => [kind, leftOutCount])).toEqual([
      ['context', 2],
      ['answer', 7],
    ]);
  });

  it('tells prompts from what the program wrote', () => {
    const kinds = [
      message('user', [text('<command-name>/clear</command-name>')]),
      message('user', [text('anything')], { metadata: { isMeta: true } }),
      message('user', [text('<div> is not centred')]),
      message('system', [text('compacted')]),
      message('summary', [text('a title')]),
      message('user', [text('   ')]),
    ];
    expect(toConversation(kinds).map(({ kind }) => kind)).toEqual(['context', 'context', 'prompt', 'system', 'system']);
  });
});

it.each([
  [{ command: 'ls -l', description: 'List' }, 'ls -l'],
  [{ command: ['bash', '-lc', 'ls'] }, 'bash -lc ls'],
  [{ file_path: '/a', old_string: 'x' }, '/a'],
  ['{"cut', '{"cut'],
  [{ count: 3 }, ''],
  [null, ''],
])('says what %j is about', (input, expected) => {
  expect(describeToolInput(input)).toBe(expected);
});
