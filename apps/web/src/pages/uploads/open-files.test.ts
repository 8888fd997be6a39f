import { strToU8, zipSync } from 'fflate';
import { createTar, createTarGzip } from 'nanotar';
import { expect, it } from 'vitest';
import { type ChosenFile, listFiles, openFiles } from './open-files.ts';

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
  { leftOut: 'by name' },
];

it('sends a file that was chosen by itself whatever its name, with the encoding that its name implies', async () => {
  expect(await open(choose('a.jsonl', 'x'), choose('session.log', 'y'), choose('b.jsonl.gz', 'z'))).toEqual([
    { path: 'a.jsonl', body: 'x' },
    { path: 'session.log', body: 'y' },
    { path: 'b.jsonl.gz', body: 'z', encoding: 'gzip' },
  ]);
});

it('skips files in a folder whose names do not fit transcripts', async () => {
  expect(await open(choose('folder/a.json', 'x'), choose('folder/picture.png', 'y'))).toEqual([
    { path: 'folder/a.json', body: 'x' },
    { leftOut: 'by name' },
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

/** Zip archives of one member each, put together, because fflate makes no two members of one name. */
function joinZips(first: Uint8Array, second: Uint8Array): Uint8Array {
  const directoryOf = (zip: Uint8Array): number => new DataView(zip.buffer).getUint32(zip.length - 22 + 16, true);
  const [a, b] = [directoryOf(first), directoryOf(second)];
  const entry = second.slice(b, -22);
  new DataView(entry.buffer).setUint32(42, a, true);
  const end = second.slice(-22);
  const view = new DataView(end.buffer);
  for (const offset of [8, 10]) view.setUint16(offset, 2, true);
  view.setUint32(12, first.length - 22 - a + entry.length, true);
  view.setUint32(16, a + b, true);
  return new Uint8Array([...first.slice(0, a), ...second.slice(0, b), ...first.slice(a, -22), ...entry, ...end]);
}

it('sends all members of one name of an archive, in order', async () => {
  const twice = ['{"v":1}\n', '{"v":2}\n{"v":3}\n'].map((data) => ({ name: 'p/s.jsonl', data }));
  const opened = twice.map(({ name, data }) => ({ path: name, body: data }));
  const [first, second] = twice.map(({ name, data }) => zipSync({ [name]: strToU8(data) }));
  expect(await open(choose('a.zip', joinZips(first as Uint8Array, second as Uint8Array)))).toEqual(opened);
  expect(await open(choose('a.tar', createTar(twice)))).toEqual(opened);
  const parts = twice.map((member) => createTar([member]));
  expect(await open(choose('a.tar', new Uint8Array(parts.flatMap((part) => [...part]))))).toEqual(opened);
});

/** A tar archive with headers of these types; `x` and `L` describe the next member. */
function tarOf(...members: [type: string, name: string, content: string][]): Uint8Array {
  const blocks = members.flatMap(([type, name, content]) => {
    const [tar, text] = [createTar([{ name, data: content || ' ' }]), strToU8(content)];
    const header = tar.slice(0, 512);
    header.set(strToU8(text.length.toString(8).padStart(11, '0')), 124);
    header[156] = type.charCodeAt(0);
    header.set(strToU8('        '), 148);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.set(strToU8(`${sum.toString(8).padStart(6, '0')}\0 `), 148);
    const padding = new Uint8Array((512 - (text.length % 512)) % 512);
    return [...header, ...text, ...padding];
  });
  return new Uint8Array([...blocks, ...new Uint8Array(1024)]);
}

it('says of every member that is not sent why, and reads names of any length with spaces', async () => {
  const name = `${'a folder/'.repeat(30)}s=1 é.jsonl`;
  const record = ` path=${name}\n`;
  const length = strToU8(record).length + 3;
  const tar = tarOf(
    ['5', 'folder', ''],
    ['2', 'link.jsonl', ''],
    ['1', 'hard.jsonl', ''],
    ['3', 'device.jsonl', ''],
    ['S', 'sparse.jsonl', 'text'],
    ['0', 'more.zip', 'text'],
    ['0', 'notes.md', 'text'],
    ['x', 'PaxHeader', `${length}${record}`],
    ['0', 'short.jsonl', 'one'],
    ['L', '././@LongLink', `${name}\0`],
    ['7', 'short.jsonl', 'two'],
  );
  expect(await open(choose('a.tar', tar))).toEqual([
    { leftOut: 'as a link' },
    { leftOut: 'as a link' },
    { leftOut: 'as neither file nor folder' },
    { path: 'sparse.jsonl', reason: expect.stringContaining('sparse') },
    { leftOut: 'as an archive within an archive' },
    { leftOut: 'by name' },
    { path: name, body: 'one' },
    { path: name, body: 'two' },
  ]);
});

it('sends the members before damage, and says that later ones may be missing', async () => {
  const [member] = MEMBERS;
  const tar = createTar([member as (typeof MEMBERS)[0], { name: 'b.jsonl', data: 'b' }]);
  const damaged = { path: 'a.tar', reason: expect.stringMatching(/^The rest of it .* damaged/) };
  const cuts = [1024, 1400, 2048].map((length) => tar.slice(0, length));
  for (const cut of cuts) expect(await open(choose('a.tar', cut))).toContainEqual(damaged);
  expect(await open(choose('a.tar', cuts[0] as Uint8Array))).toContainEqual(OPENED[0]);
});

it('names members of a zip archive that are damaged or encrypted, and sends the others', async () => {
  const zip = zipSync({ 'a.jsonl': [strToU8('stored'), { level: 0 }], 'b.jsonl': strToU8('b'), 'c/': strToU8('') });
  const changed = zip.slice();
  changed[30 + 'a.jsonl'.length] = 0;
  const refused = { path: 'a.jsonl', reason: 'It is damaged in its archive' };
  expect(await open(choose('a.zip', changed))).toEqual([refused, { path: 'b.jsonl', body: 'b' }]);
  const encrypted = zip.slice();
  const directory = new DataView(zip.buffer).getUint32(zip.length - 22 + 16, true);
  encrypted[directory + 8] = 1;
  expect(await open(choose('a.zip', encrypted))).toContainEqual({
    path: 'a.jsonl',
    reason: expect.stringContaining('encrypted'),
  });
  const folder = zip.slice();
  folder[directory + 38] = 0x10;
  expect(await open(choose('a.zip', folder))).toEqual([refused, { path: 'b.jsonl', body: 'b' }]);
  const counted = zip.slice();
  counted[counted.length - 22 + 10] = 9;
  expect(await open(choose('a.zip', counted))).toContainEqual({
    path: 'a.zip',
    reason: expect.stringContaining('damaged'),
  });
});

it('says that members may be missing of several zip archives in one file, and of a directory with more than it says', async () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => zipSync({ [`${name}.jsonl`]: strToU8(name) })) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  const overflowed = zipSync({ 'a.jsonl': strToU8('a'), 'lost.jsonl': strToU8('b') });
  for (const offset of [8, 10]) new DataView(overflowed.buffer).setUint16(overflowed.length - 22 + offset, 1, true);
  // The directory lists the first member only, and ends after it.
  const both = zipSync({ 'a.jsonl': strToU8('a'), 'b.jsonl': strToU8('b'.repeat(200)) }, { level: 0 });
  const end = both.slice(-22);
  const directoryBytes = new DataView(end.buffer).getUint32(12, true);
  for (const offset of [8, 10]) new DataView(end.buffer).setUint16(offset, 1, true);
  new DataView(end.buffer).setUint32(12, directoryBytes / 2, true);
  const partial = [...both.slice(0, both.length - 22 - directoryBytes / 2), ...end];
  const note = strToU8('and a text');
  const commented = Uint8Array.from([...a, ...b, ...note]);
  new DataView(commented.buffer).setUint16(a.length - 2, b.length + note.length, true);
  const rest = { path: 'a.zip', reason: expect.stringMatching(/^The rest of it .* damaged/) };
  for (const [archive, found] of [
    [[...a, ...b], 'b'],
    [[...strToU8('#!/bin/sh\n'), ...a, ...b], 'b'],
    [[...b.slice(4), ...c], 'c'],
    [[...a, ...b.slice(0, -22)], 'a'],
    [[...overflowed], 'a'],
    [partial, 'a'],
    [[...commented], 'a'],
  ] as const)
    expect(await open(choose('a.zip', new Uint8Array(archive)))).toEqual([
      { path: `${found}.jsonl`, body: found },
      rest,
    ]);
});

it('names dropped files and folders that the browser cannot read, and keeps the others', async () => {
  const [a, locked] = [toFileEntry('/folder/a.jsonl', true), toFileEntry('/folder/locked.jsonl', false)];
  const dropped = [
    toFolderEntry('/folder', [a, locked]),
    toFolderEntry('/shut', undefined),
    new File(['x'], 'b.jsonl'),
  ];
  expect(await listFiles(dropped)).toEqual([
    { path: 'folder/a.jsonl', file: expect.any(File) },
    { path: 'folder/locked.jsonl', reason: expect.stringContaining('could not read') },
    { path: 'shut', reason: expect.stringContaining('could not read') },
    { path: 'b.jsonl', file: expect.any(File) },
  ]);
});

it('names an archive that changed or disappeared while it was being read', async () => {
  const chosen = choose('a.tar', createTar(MEMBERS));
  const fail = () => Promise.reject(new DOMException('', 'NotReadableError'));
  Object.assign(chosen.file, {
    stream: () => new ReadableStream({ pull: fail }),
    slice: () => ({ arrayBuffer: fail }),
  });
  expect(await open(chosen)).toEqual([{ path: 'a.tar', reason: 'It changed or disappeared. Choose it again' }]);
});

it('names a dropped folder that contains no file', async () => {
  expect(await listFiles([toFolderEntry('/folder', [])])).toEqual([{ path: 'folder', reason: 'It contains no file' }]);
});

it('lists a dropped folder of more files than a function takes arguments', async () => {
  const files = new Array<FileSystemEntry>(600_000).fill(toFileEntry('/folder/many/a.jsonl', true));
  const listed = await listFiles([toFolderEntry('/folder', [toFolderEntry('/folder/many', files)])]);
  expect(listed.filter((each) => 'file' in each)).toHaveLength(600_000);
  expect(listed).toHaveLength(600_000);
});

const toEntry = (fullPath: string, members: object): FileSystemEntry =>
  ({ fullPath, name: fullPath.slice(1), isFile: false, isDirectory: false, ...members }) as FileSystemEntry;

type Fail = (error: Error) => void;
const fail = (reject: Fail): void => reject(new DOMException('', 'NotReadableError'));

const FILE = new File(['x'], 'a.jsonl');
const toFileEntry = (fullPath: string, isReadable: boolean): FileSystemEntry =>
  toEntry(fullPath, {
    isFile: true,
    file: (resolve: (file: File) => void, reject: Fail) => (isReadable ? resolve(FILE) : fail(reject)),
  });

function toFolderEntry(fullPath: string, children: FileSystemEntry[] | undefined): FileSystemEntry {
  const parts = [children, []];
  return toEntry(fullPath, {
    isDirectory: true,
    createReader: () => ({
      readEntries(resolve: (part: FileSystemEntry[]) => void, reject: Fail) {
        const part = parts.shift();
        if (part === undefined) fail(reject);
        else resolve(part);
      },
    }),
  });
}
