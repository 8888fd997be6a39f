import { expect, test } from 'vitest';
import { toNoName, toPlainName } from './plain-name.ts';

test('a missing name is called the same in every table', () => {
  expect(['person', 'repository', 'team', 'tool'].map(toNoName)).toEqual([
    'Unknown person',
    'No repository',
    'No team',
    'Unknown',
  ]);
});

test('a name is short unless another one would be the same', () => {
  expect(toPlainName('repository', 'github.com/acme/heron', ['github.com/acme/ibis'])).toBe('heron');
  expect(toPlainName('repository', 'github.com/acme/heron', ['github.com/eve/heron'])).toBe('github.com/acme/heron');
});
