import { describe, expect, it } from 'vitest';
import { findOffences, isRead } from './english.ts';

describe('findOffences', () => {
  it.each([
    ['a.ts', '/** Whether it runs. */', 'a.ts:1: comment: “Whether”: begin with a noun or a verb'],
    ['a.ts', 'x;\n/**\n * The day\n * on which it began.\n */', 'a.ts:3: comment: “on which”'],
    ['a.ts', '// The size is that\n// of the file.', 'a.ts:1: comment: “that of”'],
    ['a.ts', "throw new Error('Nobody can read this');", 'a.ts:1: message: “Nobody”'],
    ['a.ts', 'say("Many ran at once");', 'a.ts:1: message: “at once”'],
    ['a.test.ts', "it('of a group', () => {});", 'a.test.ts:1: test: “of”'],
    ['a.test.ts', "])('goes on with %s', () => {});", 'a.test.ts:1: test: “goes on”'],
    ['README.md', 'Sums by\nquarters of an hour', 'README.md:2: docs: “quarters of an hour”'],
  ])('names the place, the words and a better wording in %s: %j', (file, source, offence) => {
    expect(findOffences(file, source).join('\n')).toContain(offence);
  });

  it('leaves data of tests, code, quotations and directives alone', () => {
    expect(findOffences('a.test.ts', "send('nobody at once');")).toEqual([]);
    expect(findOffences('a.ts', 'const meanwhile = atOnce[nobody];')).toEqual([]);
    expect(findOffences('a.ts', '// biome-ignore lint/a: the pictures are those of a test')).toEqual([]);
    expect(findOffences('a.md', '```\nfor good\n```\n    at once\nthe kind `dearest`, or “at once”')).toEqual([]);
  });

  it('reads sources and documentation, and not the texts of others or of the past', () => {
    expect(['apps/a.tsx', 'bin/a.mjs', 'docs/a.md'].every(isRead)).toBe(true);
    expect(['CHANGELOG.md', 'samples/README.md', 'docs/decisions/0001.md', 'a.json'].some(isRead)).toBe(false);
  });
});
