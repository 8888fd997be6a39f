import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deleteOwnFiles, inspectFolder, isDataFile, isPostgresFile, isUsageCacheFile } from './own-files.ts';

let path: string;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'recount-own-'));
});
afterEach(() => rm(path, { recursive: true, force: true }));

async function write(...names: string[]): Promise<void> {
  for (const name of names) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), 'ten bytes.');
  }
}

const OWN = [
  'credentials.json',
  'running.json',
  'running.json.lock',
  'samples-loaded',
  'import-asked',
  'logs/recount.log',
  'logs/recount.log.1',
  'raw/.incoming/x',
  'raw/readiness-check',
  'raw/workspaces/01M8DTD2G617H617Q9N3W4FF71/transcripts/01M8DTD2VBTBJ10T91V2KS2HFZ.jsonl',
  'postgres/cluster/18/PG_VERSION',
  'postgres/where-the-data-are.txt',
  'programs/node_modules/x/package.json',
  'collector/connection.json',
  'collector/hook',
];
const FOREIGN = [
  'Documents/thesis.txt',
  'logs/mylog.txt',
  'raw/photo.raw',
  'raw/workspaces/photo.raw',
  'postgres/dump.sql',
  'credentials',
  'notes.json',
];

describe('files of the data directory', () => {
  it.each(OWN)('are recount’s: %s', (name) => {
    expect(isDataFile(name)).toBe(true);
  });

  it.each(FOREIGN)('are not recount’s: %s', (name) => {
    expect(isDataFile(name)).toBe(false);
  });

  it('are counted, and the foreign ones named', async () => {
    await write(...OWN, ...FOREIGN);
    const contents = await inspectFolder({ path, what: 'data', isOwn: isDataFile });
    const count = OWN.length + FOREIGN.length;
    expect(contents).toMatchObject({ fileCount: count, bytes: 10 * count });
    expect(contents?.foreign.sort()).toEqual(FOREIGN.map((name) => join(path, name)).sort());
  });

  it('are deleted with their folders, and others stay with theirs', async () => {
    await write(...OWN, 'raw/photo.raw');
    await deleteOwnFiles({ path, isOwn: isDataFile });
    expect(await readdir(path, { recursive: true })).toEqual(['raw', join('raw', 'photo.raw')]);
  });

  it('are deleted from a folder that is named by a symbolic link, and the link stays', async () => {
    await write('data/credentials.json', 'data/logs/recount.log');
    await symlink(join(path, 'data'), join(path, 'link'));
    await deleteOwnFiles({ path: join(path, 'link'), isOwn: isDataFile });
    expect((await readdir(path, { recursive: true })).sort()).toEqual(['data', 'link']);
  });

  it('are not looked for behind a symbolic link, which stays', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'recount-outside-'));
    await writeFile(join(outside, 'recount.log'), 'x');
    await symlink(outside, join(path, 'logs'));
    await deleteOwnFiles({ path, isOwn: isDataFile });
    expect(await readdir(outside)).toEqual(['recount.log']);
    await rm(outside, { recursive: true });
  });
});

it('a folder that does not exist has no contents, and deleting it does nothing', async () => {
  const folder = { path: join(path, 'missing'), what: 'data', isOwn: isDataFile };
  expect(await inspectFolder(folder)).toBeUndefined();
  await deleteOwnFiles(folder);
});

it('knows the files of a database elsewhere and of the memory of usage', () => {
  expect(
    ['cluster/18/base/1', 'owner.lock', 'installation.json', 'x', 'installation.json.bak'].map(isPostgresFile),
  ).toEqual([true, true, true, false, false]);
  expect(['2026-11.usage', 'status.json', '2026-11.usage.x8k', 'usage'].map(isUsageCacheFile)).toEqual([
    true,
    true,
    true,
    false,
  ]);
});
