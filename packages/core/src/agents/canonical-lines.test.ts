import { expect, it } from 'vitest';
import { readJsonColumn } from './canonical-lines.ts';

it('reads the JSON of a column without the characters that Postgres refuses', () => {
  expect(readJsonColumn('{"text":"a\\u0000b\\ud800"}')).toEqual({ text: 'a\ufffdb\ufffd' });
  expect(readJsonColumn('no JSON')).toBeUndefined();
  expect(readJsonColumn(7)).toBe(7);
});
