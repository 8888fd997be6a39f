import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFakeContext } from '../testing/fake-context.ts';
import { findBelow } from './find-below.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-below-'));
});
afterAll(() => rm(directory, { recursive: true }));

it('finds a file in the place of an agent’s database, even if it is none', async () => {
  const home = join(directory, 'home');
  const path = join(home, '.local/share/opencode/opencode.db');
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, 'torn');
  await writeFile(join(home, 'notes.db'), 'torn');
  const { transcripts, databases } = await findBelow(createFakeContext(), [home]);
  expect(transcripts).toMatchObject([{ path, isInPlace: true }]);
  expect(databases).toEqual([]);
});

it('finds every name that `recount backfill` takes for a transcript, each once', async () => {
  const compressed = (name: string): string[] => [name, `${name}.gz`, `${name}.zst`];
  const reset = 'five.jsonl.reset.2026-05-07T01-26-08.695Z';
  const expected = ['one.json', 'two.jsonl', 'three.ndjson', reset].flatMap(compressed);
  const others = ['one.json.bak', 'two.jsonl.tar.gz', 'three.ndjson.tmp', 'four.txt', `${reset}.tmp`];
  await mkdir(join(directory, 'deep', 'er'), { recursive: true });
  for (const name of [...expected, ...others]) await writeFile(join(directory, 'deep', 'er', name), '');
  const { transcripts } = await findBelow(createFakeContext(), [join(directory, 'deep')]);
  expect(transcripts.map(({ path }) => basename(path)).sort()).toEqual(expected.sort());
});
