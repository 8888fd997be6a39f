import { expect, it } from 'vitest';
import { mergeCheckpoints } from './merge-checkpoints.ts';

it.each([
  ['nothing', [], [], []],
  ['what only transcripts have', ['a', 'b'], [], ['a', 'b']],
  ['what only streams have shown', [], ['a', 'b'], ['a', 'b']],
  ['what is stored in another order, by time', ['a', 'b'], ['b', 'a'], ['a', 'b']],
  ['what was shown since, as the newest', ['a', 'b'], ['b', 'c', 'd'], ['a', 'b', 'c', 'd']],
  [
    'an earlier run that is stored later, before the one that is stored',
    ['c', 'd'],
    ['a', 'b', 'c', 'd'],
    ['a', 'b', 'c', 'd'],
  ],
  ['runs between those of a file', ['a', 'c', 'e'], ['b', 'c', 'd', 'e', 'f'], ['a', 'b', 'c', 'd', 'e', 'f']],
  ['what was shown twice, once', ['a'], ['b', 'a', 'b'], ['b', 'a']],
])('lists %s', (_name, stored, shown, expected) => {
  expect(mergeCheckpoints(stored, shown)).toEqual(expected);
});
