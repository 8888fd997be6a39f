import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { listMissingFolders, removeEmptyFolders } from './created-folders.ts';

it('removes the folders that were made, if nothing else uses them', async () => {
  const home = await mkdtemp(join(tmpdir(), 'recount-made-'));
  onTestFinished(() => rm(home, { recursive: true }));
  const inner = join(home, 'config/agent/plugins');
  const made = listMissingFolders(inner);
  expect(made).toEqual([join(home, 'config'), join(home, 'config/agent'), inner]);
  await mkdir(inner, { recursive: true });
  expect(listMissingFolders(inner)).toEqual([]);
  await writeFile(join(home, 'config/agent/theirs.json'), '{}');
  await removeEmptyFolders([...made, ...made, join(home, 'never-made')]);
  expect(await readdir(join(home, 'config/agent'))).toEqual(['theirs.json']);
  await rm(join(home, 'config/agent/theirs.json'));
  await removeEmptyFolders(made);
  expect(await readdir(home)).toEqual([]);
});
