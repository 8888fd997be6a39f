import fc from 'fast-check';
import { expect, test } from 'vitest';
import { classifyName, toMemberPath, toShownName, withoutCompressionEnding } from './source-name.ts';

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
  ['a.json', 'transcript'],
  ['agent-1.meta.json', 'other'],
  ['.factory/sessions/-app/s-1.settings.json', 'transcript'],
  ['s-1.jsonl.reset.2026-05-07T01-26-08.695Z', 'transcript'],
  ['s-1.jsonl.deleted.2026-05-07T01-26-08Z.zst', 'transcript'],
  ['main.s-1.jsonl.imported-1780000000000.1', 'transcript'],
  ['s-1.jsonl.bak.2026-05-07T01-26-08.695Z', 'other'],
  ['s-1.jsonl.reset.2026-05-07T01-26-08.695Z.tmp', 'other'],
  ['s-1.jsonl.reset.lock', 'other'],
  ['s-1.jsonl.lock', 'other'],
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
  ['..', ''],
])('the member %j has the path %j', (name, path) => {
  expect(toMemberPath(name)).toBe(path);
});

test.each([
  ['grün 日本 👩‍👩‍👧.jsonl', 'grün 日本 👩‍👩‍👧.jsonl'],
  ['a\nb\u001b[2J', 'a\uFFFDx0Ab\uFFFDx1B[2J'],
  [Buffer.from('caf\xE9.jsonl', 'latin1'), 'caf\uFFFDxE9.jsonl'],
  [Buffer.from('caf\xE8.jsonl', 'latin1'), 'caf\uFFFDxE8.jsonl'],
  [Buffer.from('gr\xC3\xBCn\xC3.\xF0\x9F\x91', 'latin1'), 'grün\uFFFDxC3.\uFFFDxF0\uFFFDx9F\uFFFDx91'],
  ['\uFFFDxE9', '\uFFFDxEF\uFFFDxBF\uFFFDxBDxE9'],
])('%j is shown as %j', (name, shown) => {
  expect(toShownName(name)).toBe(shown);
});

test('shown names are text without control characters, and different names stay distinct', () => {
  const part = fc.oneof(
    fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom('\uFFFDxE9', '\uFFFD', 'xE9', 'é', '👩‍👩‍👧', '\u001b').map((text) => Buffer.from(text)),
    fc.constantFrom(0xe9, 0xc3, 0xf0, 0x80).map((byte) => Buffer.of(byte)),
  );
  const name = fc.array(part, { maxLength: 3 }).map((parts) => Buffer.concat(parts));
  fc.assert(
    fc.property(name, name, (a, b) => {
      expect(toShownName(a)).not.toMatch(/\p{Cc}/u);
      expect(toShownName(a).isWellFormed()).toBe(true);
      expect(toShownName(a) === toShownName(b)).toBe(a.equals(b));
      // Each mark stands for one byte, so the name can be recovered.
      const marked = toShownName(a).split(/(\uFFFDx[0-9A-F]{2})/u);
      const bytes = marked.map((text, index) =>
        index % 2 === 1 ? Buffer.of(Number.parseInt(text.slice(2), 16)) : Buffer.from(text),
      );
      expect(Buffer.concat(bytes)).toEqual(a);
    }),
  );
});

test('the compression suffix is not part of the path', () => {
  expect(['a.jsonl.gz', 'a.jsonl.ZST', 'a.jsonl'].map(withoutCompressionEnding)).toEqual([
    'a.jsonl',
    'a.jsonl',
    'a.jsonl',
  ]);
});
