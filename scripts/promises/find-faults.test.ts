import { describe, expect, it } from 'vitest';
import { findPromiseFaults, type PromiseSources } from './find-faults.ts';
import { listTestNames } from './list-test-names.ts';

const DOCUMENT = `# Water

Water is **wet**, as [everyone](x.md) knows. It is \`H2O\`.

## Ice

Ice is water, too.

- Ice floats.
- Ice \`melts\` at 0 degrees:

| when   | then  |
| ------ | ----- |
| summer | water |
| winter | ice   |
`;
const PROMISES = `# Promises

## water.md

### Water

| promise      | test                   | command              |
| ------------ | ---------------------- | -------------------- |
| Water is wet | \`a.test.ts\` › wets   | \`npm test\`         |
|              | \`b.test.ts\` › is %s  | \`npm run test:all\` |

### Ice

| promise        | test                   | command                     |
| -------------- | ---------------------- | --------------------------- |
| Ice floats     | \`a.test.ts\` › floats | \`npm test\`                |
| Ice melts at 0 | –                      | by hand: \`warm\`, 2026-11-23 |
|                | \`pnpm thaw\`            | \`npm run test:night\`        |

Promises nothing:

- “Ice is water”: explains
- “when: then”: explains
`;
const TESTS: Record<string, string> = {
  'a.test.ts': "it('wets', () => {}); it('floats', () => {}); it.skip('sinks', () => {});",
  'b.test.ts': "it.each(['a', 'b)'])('is %s', () => {});",
};

const find = (changes: Partial<PromiseSources & { document: string }> = {}): string[] =>
  findPromiseFaults({
    documents: { 'water.md': changes.document ?? DOCUMENT },
    promises: PROMISES,
    readTest: (path) => TESTS[path],
    commandOf: (path) => (path === 'a.test.ts' ? 'npm test' : 'npm run test:all'),
    nightScripts: new Set(['thaw']),
    ...changes,
  });

describe('the check of promises', () => {
  it('accepts a table that has every block, with a test or a reason', () => {
    expect(find()).toEqual([]);
  });

  it.each([
    ['a new sentence', { document: `${DOCUMENT}\nIce is cold.\n` }, 'Ice is cold.…” is in no row: add one'],
    [
      'a new point',
      { document: DOCUMENT.replace('- Ice floats.', '- Ice floats.\n- Ice shines.') },
      'Ice shines.…” is',
    ],
    ['a changed sentence', { document: DOCUMENT.replace('floats', 'swims') }, '“Ice floats” begins no block'],
    ['a sentence in another section', { document: DOCUMENT.replace('## Ice', '## Snow') }, '“Ice floats” begins no'],
    [
      'words that go on',
      { document: DOCUMENT.replace('is **wet**', 'is **wetter**') },
      '“Water is wet” begins no block',
    ],
    ['words of two blocks', { document: `${DOCUMENT}\nIce floats on water.\n` }, '“Ice floats” begins several blocks'],
    ['a document that is not read', { promises: PROMISES.replace('water.md', 'fire.md') }, 'this check does not read'],
    ['a file that is gone', { readTest: () => undefined }, 'there is no test file a.test.ts'],
    ['a helper in place of a test', { promises: PROMISES.replace('a.test.ts` › f', 'a.ts` › f') }, 'no test file a.ts'],
    ['a renamed test', { promises: PROMISES.replace('› floats', '› swims') }, 'a.test.ts has no test “swims”'],
    ['a skipped test', { promises: PROMISES.replace('› floats', '› sinks') }, 'a.test.ts has no test “sinks”'],
    ['no test at all', { promises: PROMISES.replace('`a.test.ts` › floats', '–') }, 'write a test, or “by hand'],
    ['no date', { promises: PROMISES.replace(', 2026-11-23', '') }, 'write a test, or “by hand'],
    ['another form', { promises: PROMISES.replace('`a.test.ts` › floats', 'none yet') }, '“none yet” is not “`path` ›'],
    ['no reason', { promises: PROMISES.replace('”: explains', '”') }, 'is not “first words”: why'],
    [
      'a test that moved to another command',
      { commandOf: () => 'npm test' },
      'b.test.ts: the command that runs it is `npm test`, not',
    ],
    ['a program that no command runs', { nightScripts: new Set() }, 'pnpm thaw is no program of npm run test:night'],
    [
      'a program under another command',
      { promises: PROMISES.replace(':night`', ':all`') },
      'is `npm run test:night`, not',
    ],
  ] satisfies [string, Parameters<typeof find>[0], string][])('finds %s', (_fault, changes, message) => {
    expect(find(changes).join('\n')).toContain(message);
  });
});

describe('the names of tests', () => {
  it.each([
    ["it('plain', () => {})", ['plain']],
    ["test('isn\\'t', f);", ["isn't"]],
    ['it(`of $COUNT rows`, async () => {})', ['of $COUNT rows']],
    ["it(\n  'on a separate line',\n  f)", ['on a separate line']],
    ["it.each([['(', /[)'\"]/], [\"]'\"]])('each %s', f)", ['each %s']],
    ["it.skipIf(isRoot)('if possible', f); it.runIf(a).each([1])('both', f)", ['if possible', 'both']],
    ["it.each([\n  // it's a comment\n  '/',\n])('after a comment', f)", ['after a comment']],
    ["it.each<[string, (n: number) => void]>([['a', f]])('typed %s', f)", ['typed %s']],
    ["describe('a group', () => { it('inside', f); })", ['inside']],
    ["describe.each([1])('a group', f); it.skip('later', f); it.todo('some day'); split('no test', f)", []],
  ])('are read from %s', (source, names) => {
    expect([...listTestNames(source)]).toEqual(names);
  });
});
