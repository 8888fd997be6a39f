import { expect, it } from 'vitest';
import { toContentBlocks } from '../agents/anthropic-api/content-blocks.ts';
import type { JsonValue } from '../rows.ts';
import { only } from '../testing/transcript-lines.ts';
import { toOutputText } from './output-text.ts';

const ignore = () => {};
const textOf = (content: JsonValue, fields = {}) =>
  toOutputText(
    only(
      toContentBlocks([{ type: 'tool_result', tool_use_id: 't', content, ...fields }], {
        maxInlineContentBytes: Number.MAX_SAFE_INTEGER,
        onNestingTooDeep: ignore,
        onIdentifierCut: ignore,
        onInvalidContent: ignore,
        onTooManyBlocks: ignore,
      }),
    ),
  );

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };

it.each<[string, JsonValue]>([
  ['plain', 'plain'],
  [
    'a\nb',
    [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ],
  ],
  ['{"files":2}', { files: 2 }],
  ['12.5', 12.5],
  ['false', false],
  ['[image/png, 3 bytes]', [image]],
  ['seen\n[image/png, 3 bytes]\n{"type":"other"}', [image, { type: 'text', text: 'seen' }, { type: 'other' }]],
  ['', ''],
  ['', []],
])('%j', (expected, content) => {
  expect(textOf(content)).toBe(expected);
});

it('takes the reason of a failure where there is no output', () => {
  expect(textOf('', { is_error: true, error: 'Permission denied' })).toBe('Permission denied');
  expect(textOf('some', { is_error: true, error: 'Permission denied' })).toBe('some');
});
