import type { ContentBlock, MessageList } from '@recount/contract';
import { expect, it } from 'vitest';
import { toMessages } from './tool-answers.ts';

const toList = (blocks: readonly Partial<ContentBlock>[]): MessageList => {
  const content_blocks = blocks.map((block) => ({ block_type: 'text', tool_name: null, is_error: null, ...block }));
  return { messages: [{ id: '01', content_blocks }] } as unknown as MessageList;
};

const readTexts = (blocks: readonly Partial<ContentBlock>[]): (string | null)[] =>
  (toMessages(toList(blocks)) as { messages: { blocks: { text: string | null }[] }[] }).messages.flatMap((message) =>
    message.blocks.map(({ text }) => text),
  );

it('says how much of a text is left out', () => {
  const beginning = { truncated: true, original_byte_length: 200_015 };
  expect(
    readTexts([
      { content_text: 'whole', metadata: {} },
      { tool_input: '{"command": "ls', metadata: beginning },
      { content_text: 'x'.repeat(60_000), metadata: {} },
      { result_text: 'y', metadata: beginning },
      { result_text: 'y', metadata: { truncated: true } },
    ]).map((text) => text?.replace(/x+/, 'x')),
  ).toEqual([
    'whole',
    '{"command": "ls… (the beginning of 200015 bytes)',
    'x… (10053 more characters)',
    '… (the beginning of 200015 bytes)',
    '… (a part is left out)',
  ]);
});
