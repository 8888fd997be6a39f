import { execFileSync } from 'node:child_process';
import { chmod, mkdir, rename, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { measureInput, readSources } from './read-sources.ts';
import { summarize } from './testing/summarize.ts';
import { createTar } from './testing/tar-writer.ts';
import { createTemporaryFolder } from './testing/temporary-folder.ts';

test('a session comes right before its sub-agents, everything in one order', async () => {
  const folder = await createTemporaryFolder({
    'b/s2/subagents/agent-2.jsonl': '5',
    'b/s2/subagents/agent-1.jsonl': '4',
    'b/s2.jsonl': '3',
    'b/s1.jsonl': '2',
    'b/s2-later.jsonl': 'z',
    'a/x.ndjson': '1',
    'c.jsonl': '6',
  });
  const expected = [
    'a/x.ndjson = 1',
    'b/s1.jsonl = 2',
    'b/s2-later.jsonl = z',
    'b/s2.jsonl = 3',
    'b/s2/subagents/agent-1.jsonl = 4',
    'b/s2/subagents/agent-2.jsonl = 5',
    'c.jsonl = 6',
  ];
  expect(await summarize([folder])).toEqual(expected);
  expect(await summarize([folder])).toEqual(expected);
});

test('paths are read in the given order', async () => {
  const folder = await createTemporaryFolder({ 'a.jsonl': '1', 'b.jsonl': '2' });
  expect(await summarize([folder, join(folder, 'b.jsonl'), join(folder, 'a.jsonl')])).toEqual([
    'a.jsonl = 1',
    'b.jsonl = 2',
    'b.jsonl = 2',
    'a.jsonl = 1',
  ]);
});

test('other names are skipped in folders, but read if they are named', async () => {
  const folder = await createTemporaryFolder({ 'notes.txt': '{}', 'agent-1.meta.json': '{}', '._a.jsonl': 'x' });
  expect(await summarize([folder])).toEqual([
    'skipped ._a.jsonl not-a-transcript',
    'skipped agent-1.meta.json not-a-transcript',
    'skipped notes.txt not-a-transcript',
  ]);
  expect(await summarize([join(folder, 'notes.txt')])).toEqual([' = {}']);
});

test('links are followed if they are named, never in a folder', async () => {
  const outside = await createTemporaryFolder({ 'secret.jsonl': 'outside' });
  const folder = await createTemporaryFolder({ 'a.jsonl': 'inside' });
  await symlink(join(outside, 'secret.jsonl'), join(folder, 'file-link.jsonl'));
  await symlink(outside, join(folder, 'folder-link'));
  await symlink(join(folder, 'nowhere'), join(folder, 'dangling.jsonl'));
  expect(await summarize([folder])).toEqual([
    'a.jsonl = inside',
    'skipped dangling.jsonl link',
    'skipped file-link.jsonl link',
    'skipped folder-link link',
  ]);
  expect(await summarize([join(folder, 'folder-link')])).toEqual(['secret.jsonl = outside']);
  expect(await summarize([join(folder, 'file-link.jsonl')])).toEqual([' = outside']);
});

test('a file that became a link after it was listed is not followed', async () => {
  const outside = await createTemporaryFolder({ 'secret.jsonl': 'outside' });
  const folder = await createTemporaryFolder({ 'a.jsonl': 'inside' });
  for await (const item of readSources([folder])) {
    await rename(join(folder, 'a.jsonl'), join(folder, 'b.jsonl'));
    await symlink(join(outside, 'secret.jsonl'), join(folder, 'a.jsonl'));
    if (item.kind !== 'transcript') throw new Error(item.kind);
    await expect(item.open()).rejects.toMatchObject({ name: 'SourceError', code: 'changed' });
  }
});

test('skips anything that is neither file nor folder, without waiting for it', async () => {
  const folder = await createTemporaryFolder();
  execFileSync('mkfifo', [join(folder, 'pipe.jsonl')]);
  expect(await summarize([folder])).toEqual(['skipped pipe.jsonl not-a-file']);
  expect(await summarize([join(folder, 'pipe.jsonl')])).toEqual(['skipped  not-a-file']);
});

test('older files are skipped, also in archives', async () => {
  const folder = await createTemporaryFolder({ 'new.jsonl': 'n', 'old.jsonl': 'o', 'old.tar': 'o' });
  for (const name of ['old.jsonl', 'old.tar']) await utimes(join(folder, name), 1000, 1000);
  expect(await summarize([folder], { sinceMs: 2_000_000 })).toEqual([
    'new.jsonl = n',
    'skipped old.jsonl older-than-since',
    'skipped old.tar older-than-since',
  ]);
  expect(await summarize([join(folder, 'old.jsonl')], { sinceMs: 1_000_000 })).toEqual([' = o']);
});

test('a transcript has its path, size and time', async () => {
  const folder = await createTemporaryFolder({ 'p/a.jsonl': 'four' });
  await utimes(join(folder, 'p/a.jsonl'), 1000, 1000);
  for await (const item of readSources([folder])) {
    expect(item).toMatchObject({
      kind: 'transcript',
      location: join(folder, 'p/a.jsonl'),
      path: join(folder, 'p/a.jsonl'),
      sizeBytes: 4,
      modifiedAtMs: 1_000_000,
      reopenable: true,
    });
  }
});

test('missing paths, empty folders and impossible names are distinguished', async () => {
  const folder = await createTemporaryFolder({ 'a.jsonl': 'a' });
  await mkdir(join(folder, 'empty'));
  expect(await summarize([join(folder, 'gone')])).toEqual(['failed  not-found']);
  expect(await summarize([join(folder, 'a.jsonl/b')])).toEqual(['failed  not-found']);
  expect(await summarize([join(folder, 'empty')])).toEqual(['skipped  empty-folder']);
  expect(await summarize(['a\u0000b'])).toEqual(['failed a\uFFFDx00b invalid-location']);
  expect(await summarize([`/${'x'.repeat(300)}`])).toEqual(['failed  invalid-location']);
});

/** On Linux, names are arbitrary bytes. Other systems only accept UTF-8. */
test.skipIf(process.platform !== 'linux')('files and folders whose names are not UTF-8 are read', async () => {
  const folder = await createTemporaryFolder({ 'ok.jsonl': '0' });
  const toPath = (name: string): Buffer => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')]);
  await mkdir(toPath('d\xFF'));
  for (const [name, content] of [
    ['caf\xE8.jsonl', '1'],
    ['caf\xE9.jsonl', '2'],
    ['d\xFF/s.jsonl.gz', gzipSync('3')],
    ['d\xFF/\x1B.jsonl', '4'],
    ['\xFF.tar', await createTar([{ name: 's.jsonl', content: '5' }])],
  ] as const) {
    await writeFile(toPath(name), content);
  }
  await symlink(toPath('caf\xE9.jsonl'), toPath('l\xFF.jsonl'));
  expect(await summarize([folder])).toEqual([
    'caf\uFFFDxE8.jsonl = 1',
    'caf\uFFFDxE9.jsonl = 2',
    'd\uFFFDxFF/\uFFFDx1B.jsonl = 4',
    'd\uFFFDxFF/s.jsonl.gz = 3',
    'skipped l\uFFFDxFF.jsonl link',
    'ok.jsonl = 0',
    '\uFFFDxFF.tar!s.jsonl = 5',
  ]);
  expect(await measureInput([folder])).toMatchObject({ transcriptFiles: 5, archives: 1 });
  // Node's string for such a name on the command line names no file.
  for await (const item of readSources([toPath('caf\xE9.jsonl').toString()])) {
    expect(item).toMatchObject({ kind: 'failed', error: { message: expect.stringContaining('give the folder') } });
  }
});

test('an error message contains no path', async () => {
  for await (const item of readSources(['/gone/private-name.jsonl'])) {
    expect(item).toMatchObject({ kind: 'failed', location: '/gone/private-name.jsonl' });
    if (item.kind === 'failed') expect(item.error.message).toBe('no such file or folder');
  }
});

test.skipIf(process.getuid?.() === 0)('unreadable files fail, the rest is read', async () => {
  const folder = await createTemporaryFolder({ 'a.jsonl': 'a', 'closed/b.jsonl': 'b', 'c.jsonl': 'c' });
  await chmod(join(folder, 'a.jsonl'), 0);
  await chmod(join(folder, 'closed'), 0);
  expect(await summarize([folder])).toEqual([
    'failed a.jsonl permission-denied',
    'c.jsonl = c',
    'failed closed permission-denied',
  ]);
  await chmod(join(folder, 'closed'), 0o700);
});

test('folders that are too deep are skipped, folders that are too large fail', async () => {
  const folder = await createTemporaryFolder({ 'a.jsonl': '0', 'b/b.jsonl': '1', 'b/c/c.jsonl': '2' });
  expect(await summarize([folder], { limits: { maxDepth: 1 } })).toEqual([
    'a.jsonl = 0',
    'b/b.jsonl = 1',
    'skipped b/c too-deep',
  ]);
  expect(await summarize([folder], { limits: { maxFolderEntries: 1 } })).toEqual(['failed  limit-exceeded']);
});

test('a file removed after it was listed fails when it is opened', async () => {
  const folder = await createTemporaryFolder({ 'a.jsonl': '0' });
  for await (const item of readSources([folder])) {
    await rename(join(folder, 'a.jsonl'), join(folder, 'b.jsonl'));
    if (item.kind !== 'transcript') throw new Error(item.kind);
    await expect(item.open()).rejects.toMatchObject({ name: 'SourceError', code: 'not-found' });
  }
});
