import { expect, it } from 'vitest';
import { type BlockFields, toFoundSession } from './found.ts';

const block = (fields: Partial<BlockFields>): BlockFields => ({
  message_type: 'user',
  message_metadata: null,
  content_text: null,
  tool_name: null,
  tool_use_id: null,
  tool_result_id: null,
  result_text: null,
  ...fields,
});

it('leaves messages that the agent added by itself out of the prompts of a session', () => {
  const blocks = [
    block({ content_text: 'Add a test' }),
    block({ content_text: 'Add a test', message_metadata: { isMeta: true } }),
    block({ content_text: 'Done', message_type: 'assistant' }),
  ];
  const session = toFoundSession({ id: 's', agent: 'kilo', promptCount: 1 }, blocks, []);
  expect(session).toMatchObject({ prompts: ['Add a test'], answers: ['Done'] });
});

it('gives each tool call the result that names it', () => {
  const blocks = [
    block({ message_type: 'assistant', tool_name: 'Read', tool_use_id: 'a' }),
    block({ message_type: 'assistant', tool_name: 'Bash', tool_use_id: 'b' }),
    block({ tool_result_id: 'a', result_text: 'text' }),
  ];
  const { calls } = toFoundSession({ id: 's', agent: 'kilo', promptCount: 1 }, blocks, []);
  expect(calls).toEqual([
    { id: 'a', name: 'Read', result: 'text' },
    { id: 'b', name: 'Bash', result: null },
  ]);
});
