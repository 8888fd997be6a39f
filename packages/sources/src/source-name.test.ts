import { expect, test } from 'vitest';
import { classifyName, toDisplayName, toMemberPath, withoutCompressionEnding } from './source-name.ts';

test.each([
  ['a.jsonl', 'transcript'],
  ['p/A.NDJSON', 'transcript'],
  ['a.jsonl.gz', 'transcript'],
  ['a.ndjson.zst', 'transcript'],
  ['a.tar', 'tar'],
  ['a.tar.gz', 'tar'],
  ['a.tgz', 'tar'],
  ['a.tar.zst', 'tar'],
  ['a.zip', 'zip'],
  ['a.json', 'other'],
  ['a.gz', 'other'],
  ['jsonl', 'other'],
  ['a.jsonl.txt', 'other'],
  ['__MACOSX/p/._a.jsonl', 'other'],
])('%s is named as %s', (name, kind) => {
  expect(classifyName(name)).toBe(kind);
});

test.each([
  ['p/s/subagents/agent-1.jsonl', 'p/s/subagents/agent-1.jsonl'],
  ['/home/me/a.jsonl', 'home/me/a.jsonl'],
  ['../../etc/a.jsonl', 'etc/a.jsonl'],
  ['./p/./x/../a.jsonl', 'p/x/a.jsonl'],
  ['C:/Users/a.jsonl', 'Users/a.jsonl'],
  ['a\u0000\u001b[31mb.jsonl', 'a\uFFFD\uFFFD[31mb.jsonl'],
  ['..', ''],
])('the member %j has the path %j', (name, path) => {
  expect(toMemberPath(name)).toBe(path);
});

test('a shown name cannot steer a terminal', () => {
  expect(toDisplayName('a\nb\u001b[2J\u009b')).toBe('a\uFFFDb\uFFFD[2J\uFFFD');
});

test('the compression ending is no part of the path', () => {
  expect(['a.jsonl.gz', 'a.jsonl.ZST', 'a.jsonl'].map(withoutCompressionEnding)).toEqual([
    'a.jsonl',
    'a.jsonl',
    'a.jsonl',
  ]);
});
