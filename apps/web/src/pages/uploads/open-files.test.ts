import { strToU8, zipSync } from 'fflate';
import { createTar, createTarGzip } from 'nanotar';
import { expect, it } from 'vitest';
import { type ChosenFile, openFiles } from './open-files.ts';

const choose = (path: string, bytes: Uint8Array | string): ChosenFile => ({
  path,
  file: new File([bytes as BlobPart], path.split('/').at(-1) ?? path),
});

/** The opened files, with their texts. */
async function open(...chosen: ChosenFile[]): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const each of openFiles(chosen)) {
    found.push('body' in each ? { ...each, body: await each.body.text() } : each);
  }
  return found;
}

const MEMBERS = [
  { name: 'projects/a/one.jsonl', data: '{"a":1}\n' },
  { name: 'projects/a/one/subagents/agent-2.jsonl', data: '{"b":"ü"}\n' },
  { name: 'projects/a/readme.md', data: 'no transcript' },
];
const OPENED = [
  { path: 'projects/a/one.jsonl', body: '{"a":1}\n' },
  { path: 'projects/a/one/subagents/agent-2.jsonl', body: '{"b":"ü"}\n' },
  { leftOut: 1 },
];

it('sends a file that was chosen by itself whatever its name, with the encoding that its name implies', async () => {
  expect(await open(choose('a.jsonl', 'x'), choose('session.log', 'y'), choose('b.jsonl.gz', 'z'))).toEqual([
    { path: 'a.jsonl', body: 'x' },
    { path: 'session.log', body: 'y' },
    { path: 'b.jsonl.gz', body: 'z', encoding: 'gzip' },
  ]);
});

it('skips files in a folder whose names are not those of transcripts', async () => {
  expect(await open(choose('folder/a.json', 'x'), choose('folder/picture.png', 'y'))).toEqual([
    { path: 'folder/a.json', body: 'x' },
    { leftOut: 1 },
  ]);
});

it('opens zip and tar archives, packed or not', async () => {
  const zip = zipSync(Object.fromEntries(MEMBERS.map(({ name, data }) => [name, strToU8(data)])));
  expect(await open(choose('all.zip', zip))).toEqual(OPENED);
  expect(await open(choose('all.tar', createTar(MEMBERS)))).toEqual(OPENED);
  expect(await open(choose('all.tar.gz', await createTarGzip(MEMBERS)))).toEqual(OPENED);
});

it('says what to do if an archive cannot be opened', async () => {
  const refused = await open(choose('a.zip', 'no zip'), choose('a.tar.gz', 'no gzip'), choose('a.7z', 'x'));
  expect(refused).toEqual([
    { path: 'a.zip', reason: expect.stringContaining('damaged') },
    { path: 'a.tar.gz', reason: expect.stringContaining('damaged') },
    { path: 'a.7z', reason: expect.stringContaining('recount backfill') },
  ]);
  const empty = zipSync({ 'readme.md': strToU8('x') });
  expect(await open(choose('a.zip', empty))).toContainEqual({
    path: 'a.zip',
    reason: expect.stringContaining('.jsonl'),
  });
});
