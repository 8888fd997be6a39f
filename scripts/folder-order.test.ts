import { describe, expect, it } from 'vitest';
import { findUpwardImports } from './folder-order.ts';

const ORDER = { 'packages/a': ['low', 'high'] };

const find = (files: Record<string, string>) =>
  findUpwardImports(Object.keys(files), async (file) => files[file] ?? '', ORDER);

describe('findUpwardImports', () => {
  it('accepts imports from the same folder, from folders before it and from src itself', async () => {
    const text =
      "import { a } from '../low/a.ts';\nimport './b.ts';\nexport * from '../top.ts';\nimport x from 'low';\n";
    expect(await find({ 'packages/a/src/high/deep/a.ts': text.replaceAll("'../", "'../../") })).toEqual([]);
    expect(await find({ 'packages/a/src/high/a.ts': text })).toEqual([]);
  });

  it.each([
    "import { a } from '../high/a.ts';",
    "import type { A } from '../high/a.ts';",
    "export { a } from '../high/a.ts';",
    "import '../high/a.ts';",
    "const a = await import('../high/a.ts');",
  ])('names an import from a folder after it: %s', async (text) => {
    expect(await find({ 'packages/a/src/low/b.ts': text })).toEqual([
      'packages/a/src/low/b.ts: imports ../high/a.ts, but high comes after low: move what is shared down',
    ]);
  });

  it('names a folder that has no place', async () => {
    expect(await find({ 'packages/a/src/other/b.ts': '', 'packages/b/src/x/y.ts': '' })).toEqual([
      'packages/a/src/other/b.ts: other has no place in the order of packages/a: add it to scripts/folder-order.ts',
      'packages/b/src/x/y.ts: x has no place in the order of packages/b: add it to scripts/folder-order.ts',
    ]);
  });

  it('leaves tests and their helpers free', async () => {
    const text = "import { a } from '../high/a.ts';";
    expect(await find({ 'packages/a/src/low/b.test.ts': text, 'packages/a/src/testing/c.ts': text })).toEqual([]);
  });
});
