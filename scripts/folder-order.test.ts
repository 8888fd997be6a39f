import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FOLDER_ORDER, findUpwardImports } from './folder-order.ts';

const ORDER = { 'packages/a': ['low', 'high'] };

const find = (files: Record<string, string>, order: Record<string, string[]> = ORDER) =>
  findUpwardImports(Object.keys(files), async (file) => files[file] ?? '', order);

describe('findUpwardImports', () => {
  it('accepts imports from the same folder, and from folders before it', async () => {
    const text = "import { a } from '../low/a.ts';\nimport './b.ts';\nimport x from 'low';\n";
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

  it('places files of src after all folders, unless the list places them elsewhere', async () => {
    const upwards = { 'packages/a/src/low/b.ts': "import { a } from '../index.ts';" };
    const downwards = { 'packages/a/src/index.ts': "import { b } from './low/b.ts';" };
    expect(await find(downwards)).toEqual([]);
    expect(await find(upwards)).toEqual([expect.stringContaining('index.ts comes after low')]);
    for (const first of ['.', 'index.ts']) {
      expect(await find(upwards, { 'packages/a': [first, 'low'] })).toEqual([]);
      expect(await find(downwards, { 'packages/a': [first, 'low'] })).toEqual([
        expect.stringContaining('low comes after index.ts'),
      ]);
    }
  });

  it('keeps helpers for tests out of other files', async () => {
    expect(await find({ 'packages/a/src/low/b.ts': "import { c } from '../testing/c.ts';" })).toEqual([
      'packages/a/src/low/b.ts: imports ../testing/c.ts, which is only for tests',
    ]);
  });
});

it('names only folders and files that exist', () => {
  const paths = Object.entries(FOLDER_ORDER).flatMap(([name, order]) => order.map((place) => join(name, 'src', place)));
  expect(paths.filter((path) => !existsSync(join(import.meta.dirname, '..', path)))).toEqual([]);
});
