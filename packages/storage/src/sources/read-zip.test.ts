import { execFileSync } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { assert, asyncProperty, integer } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readSources } from './read-sources.ts';
import { readZip } from './read-zip.ts';
import { DEFAULT_SOURCE_LIMITS, type TranscriptSource } from './source-item.ts';
import { summarize } from './testing/summarize.ts';
import { createTar } from './testing/tar-writer.ts';
import { createTemporaryFolder } from './testing/temporary-folder.ts';
import { createZip, type ZipMember } from './testing/zip-writer.ts';
import type { ReadContext, StoredObject } from './transcript-item.ts';

async function summarizeZip(archive: Buffer, options = {}, name = 'x.zip'): Promise<string[]> {
  const folder = await createTemporaryFolder({ [name]: archive });
  return (await summarize([folder], options)).map((line) => line.replace(`${name}!`, '!').replace(name, 'archive'));
}

const MEMBERS: ZipMember[] = [
  { name: 'p/', content: '', method: 'stored', mode: 0o040755 },
  { name: 'p/s.jsonl', content: 'one'.repeat(1000) },
  { name: 'p/notes.txt', content: 'no' },
  { name: 'p/é.jsonl', content: 'two', method: 'stored' },
  { name: 'p/empty.jsonl', content: '', method: 'stored' },
];
const MEMBER_LINES = [
  `!p/s.jsonl = ${'one'.repeat(1000)}`,
  'skipped !p/notes.txt not-a-transcript',
  '!p/é.jsonl = two',
  '!p/empty.jsonl = ',
];

describe('a zip archive', () => {
  test.each(['x.zip', 'x.tar', 'x.tar.gz'])('is recognised by its bytes, even as %s', async (name) => {
    expect(await summarizeZip(createZip(MEMBERS), {}, name)).toEqual(MEMBER_LINES);
  });

  test('may be zip64, or empty', async () => {
    expect(await summarizeZip(createZip(MEMBERS.map((member) => ({ ...member, isZip64: true }))))).toEqual(
      MEMBER_LINES,
    );
    expect(await summarizeZip(createZip([]))).toEqual([]);
  });

  test('returns all members of one name, in order', async () => {
    const members = ['one', 'two', 'three'].map((content) => ({ name: 'p/s.jsonl', content }));
    expect(await summarizeZip(createZip(members))).toEqual(members.map(({ content }) => `!p/s.jsonl = ${content}`));
  });

  test('passes over nothing but empty folders without a word', async () => {
    const lines = await summarizeZip(
      createZip([
        { name: 'folder/', content: '', method: 'stored' },
        { name: 'file.jsonl/', content: 'text' },
      ]),
    );
    expect(lines).toEqual(['skipped !file.jsonl/ not-a-file']);
  });

  test('fails after its last counted member if its directory has more, as after a count that overflowed', async () => {
    const archive = createZip(['a', 'b', 'c'].map((name) => ({ name: `${name}.jsonl`, content: name })));
    const end = archive.length - 22;
    for (const offset of [8, 10]) archive.writeUInt16LE(1, end + offset);
    expect(await summarizeZip(archive)).toEqual(['!a.jsonl = a', 'failed archive corrupt']);
  });

  test('fails after its last member if the file has several archives', async () => {
    const [one, two] = ['1', '2'].map((name) => createZip([{ name: `${name}.jsonl`, content: name }]));
    // The offsets of the second archive lead into the first, which is as long.
    const joined = Buffer.concat([one as Buffer, two as Buffer]);
    expect(await summarizeZip(joined)).toEqual(['!1.jsonl = 1', 'failed archive corrupt']);
    // As `zip -A` adjusts the offsets.
    const adjusted = Buffer.from(joined);
    const directory = adjusted.readUInt32LE(adjusted.length - 6) + (one as Buffer).length;
    adjusted.writeUInt32LE(directory, adjusted.length - 6);
    adjusted.writeUInt32LE((one as Buffer).length, directory + 42);
    expect(await summarizeZip(adjusted)).toEqual(['!2.jsonl = 2', 'failed archive corrupt']);
    // After a beginning that is no archive.
    const [shell, last] = [Buffer.from('#!/bin/sh\n'), createZip([{ name: '3.jsonl', content: '3' }])];
    const moved = Buffer.from(last);
    const start = shell.length + joined.length;
    const lastDirectory = moved.readUInt32LE(moved.length - 6);
    moved.writeUInt32LE(lastDirectory + start, moved.length - 6);
    moved.writeUInt32LE(start, lastDirectory + 42);
    const prefixed = Buffer.concat([shell, joined, moved]);
    expect(await summarizeZip(prefixed)).toEqual(['!3.jsonl = 3', 'failed archive corrupt']);
  });

  test.each([1, 2])('fails after its last member if its directory leaves out the one at %i', async (hidden) => {
    const names = ['0', '1', '2'];
    const archive = createZip(
      names.map((name) => ({ name: `${name}.jsonl`, content: name.repeat(200), method: 'stored' })),
    );
    const directory = archive.readUInt32LE(archive.length - 6);
    const entryBytes = (archive.length - 22 - directory) / names.length;
    const end = Buffer.from(archive.subarray(-22));
    for (const offset of [8, 10]) end.writeUInt16LE(names.length - 1, offset);
    end.writeUInt32LE(entryBytes * (names.length - 1), 12);
    const first = directory + entryBytes * hidden;
    const left = Buffer.concat([archive.subarray(0, first), archive.subarray(first + entryBytes, -22), end]);
    const found = names.filter((name) => name !== String(hidden));
    expect(await summarizeZip(left)).toEqual([
      ...found.map((name) => `!${name}.jsonl = ${name.repeat(200)}`),
      'failed archive corrupt',
    ]);
  });

  test('fails after its last member if its comment has another archive', async () => {
    const archive = createZip([{ name: 'a.jsonl', content: 'a' }]);
    const comment = createZip([{ name: 'b.jsonl', content: 'b' }]);
    archive.writeUInt16LE(comment.length, archive.length - 2);
    expect(await summarizeZip(Buffer.concat([archive, comment]))).toEqual(['!a.jsonl = a', 'failed archive corrupt']);
  });

  test('is read with few requests if its members have long extra fields', async () => {
    const members = Array.from({ length: 200 }, (_, index) => ({
      ...{ name: `${index}.jsonl`, content: String(index).repeat(2000), method: 'stored' as const },
      localExtraBytes: 100,
    }));
    const archive = createZip(members);
    let requests = 0;
    const object: StoredObject = {
      ...{ kind: 'object', location: 'x.zip', path: 'x.zip', sizeBytes: archive.length, modifiedAtMs: undefined },
      isExplicit: true,
      open: async ({ start, end } = { start: 0, end: archive.length }) => {
        requests += 1;
        return Readable.from([archive.subarray(start, end)]);
      },
    };
    const context: ReadContext = {
      ...{ sinceMs: undefined, limits: DEFAULT_SOURCE_LIMITS, signal: new AbortController().signal, wants: undefined },
      position: { bytes: 0 },
    };
    const kinds: string[] = [];
    for await (const { kind } of readZip(object, context)) kinds.push(kind);
    expect(kinds).toEqual(members.map(() => 'transcript'));
    expect(requests).toBeLessThan(10);
  });

  test('is read as the zip command writes it', async ({ skip }) => {
    const folder = await createTemporaryFolder({ 'in/a.jsonl': 'a'.repeat(5000), 'in/b/c.jsonl': 'c' });
    try {
      execFileSync('zip', ['-q', '-r', join(folder, 'x.zip'), '.'], { cwd: join(folder, 'in') });
    } catch {
      skip('the zip command is not installed');
    }
    const lines = await summarize([join(folder, 'x.zip')]);
    expect(lines.sort()).toEqual([`!a.jsonl = ${'a'.repeat(5000)}`, '!b/c.jsonl = c']);
  });

  test('describes its members', async () => {
    const modifiedAt = new Date(2026, 4, 6);
    const archive = createZip([
      { name: 'a.jsonl', content: 'four', modifiedAt },
      { name: '..\\b.jsonl.gz', content: gzipSync('b') },
    ]);
    const folder = await createTemporaryFolder({ 'x.zip': archive });
    const location = join(folder, 'x.zip');
    const items: unknown[] = [];
    for await (const item of readSources([folder])) items.push({ ...item, open: undefined });
    const common = { kind: 'transcript', reopenable: true, consumedInputBytes: expect.any(Number) };
    expect(items).toEqual([
      { ...common, location: `${location}!a.jsonl`, path: 'a.jsonl', sizeBytes: 4, modifiedAtMs: modifiedAt.getTime() },
      { ...common, location: `${location}!../b.jsonl.gz`, path: 'b.jsonl' },
    ]);
  });

  test('may contain members that are not read', async () => {
    const archive = createZip([
      { name: 'l.jsonl', content: '/etc/passwd', mode: 0o120777 },
      { name: 'f.jsonl', content: '', mode: 0o010644, method: 'stored' },
      { name: 'n.tar.gz', content: gzipSync('x') },
      { name: '__MACOSX/._a.jsonl', content: 'x' },
      { name: 'old.jsonl', content: 'x', modifiedAt: new Date(2020, 1, 1) },
      { name: 'new.jsonl', content: 'n', modifiedAt: new Date(2026, 1, 1) },
    ]);
    expect(await summarizeZip(archive, { sinceMs: Date.UTC(2024, 0) })).toEqual([
      'skipped !l.jsonl link',
      'skipped !f.jsonl not-a-file',
      'skipped !n.tar.gz nested-archive',
      'skipped !__MACOSX/._a.jsonl not-a-transcript',
      'skipped !old.jsonl older-than-since',
      '!new.jsonl = n',
    ]);
  });

  test('fails members it cannot return and continues', async () => {
    const archive = createZip([
      { name: 'encrypted.jsonl', content: 'x', isEncrypted: true },
      { name: 'method.jsonl', content: 'x', methodCode: 14 },
      { name: 'long.jsonl', content: 'x'.repeat(100), declaredSizeBytes: 99 },
      { name: 'short.jsonl', content: 'x'.repeat(100), declaredSizeBytes: 101 },
      { name: 'stored-short.jsonl', content: 'x'.repeat(100), declaredSizeBytes: 101, method: 'stored' },
      { name: 'checksum.jsonl', content: 'x', declaredCrc32: 1 },
      { name: 'tar.jsonl', content: await createTar([{ name: 'a', content: 'a' }]) },
      { name: 'good.jsonl.gz', content: gzipSync('good') },
    ]);
    expect(await summarizeZip(archive)).toEqual([
      'failed !encrypted.jsonl encrypted',
      'failed !method.jsonl unsupported',
      '!long.jsonl ! corrupt',
      '!short.jsonl ! truncated',
      '!stored-short.jsonl ! truncated',
      '!checksum.jsonl ! corrupt',
      '!tar.jsonl ! unsupported',
      '!good.jsonl.gz = good',
    ]);
  });

  test('inside compression is not opened', async () => {
    const archive = gzipSync(createZip(MEMBERS));
    expect(await summarizeZip(archive)).toEqual(['skipped archive nested-archive']);
  });

  test('yields its members at any time, any number of times, all concurrently', async () => {
    const large = Buffer.alloc(400_000);
    for (let i = 0; i < large.length; i += 1) large[i] = 97 + ((i * 7919) % 26);
    const members: ZipMember[] = Array.from({ length: 20 }, (_, index) => ({
      name: `${index}.jsonl`,
      content: `${index}${large}`,
      method: index % 2 ? 'stored' : 'deflated',
    }));
    const folder = await createTemporaryFolder({ 'x.zip': createZip(members) });
    const sources: TranscriptSource[] = [];
    for await (const item of readSources([folder])) if (item.kind === 'transcript') sources.push(item);
    const twice = [...sources, ...sources];
    const contents = await Promise.all(twice.map(async (source) => text(await source.open())));
    expect(contents).toEqual([...members, ...members].map(({ content }) => content));
  });
});

describe('limits', () => {
  test('apply to members, to decoded bytes and to one transcript', async () => {
    const archive = createZip(MEMBERS);
    expect(await summarizeZip(archive, { limits: { maxArchiveEntries: 2 } })).toEqual([
      MEMBER_LINES[0],
      'failed archive limit-exceeded',
    ]);
    expect(await summarizeZip(archive, { limits: { maxArchiveDecodedBytes: 100 } })).toEqual([
      'failed archive limit-exceeded',
    ]);
    expect((await summarizeZip(archive, { limits: { maxTranscriptBytes: 100 } })).slice(0, 1)).toEqual([
      'failed !p/s.jsonl limit-exceeded',
    ]);
  });

  test('stop a bomb by its expansion, whether it declares its size or not', async () => {
    const zeros = Buffer.alloc(100 * 1024 ** 2);
    const archive = createZip([
      { name: 'honest.jsonl', content: zeros },
      { name: 'lying.jsonl', content: zeros, declaredSizeBytes: 1000 },
      { name: 'inner.jsonl.gz', content: gzipSync(zeros), method: 'stored' },
      { name: 'good.jsonl', content: 'good' },
    ]);
    expect(await summarizeZip(archive)).toEqual([
      'failed !honest.jsonl limit-exceeded',
      '!lying.jsonl ! corrupt',
      '!inner.jsonl.gz ! limit-exceeded',
      '!good.jsonl = good',
    ]);
  });

  test('treat overlapping members as a bomb', async () => {
    const content = 'x'.repeat(100_000);
    const archive = createZip(
      Array.from({ length: 50 }, (_, index) => ({
        name: `${index}.jsonl`,
        content,
        method: 'stored',
        overlapsPrevious: index > 0,
      })),
    );
    expect(await summarizeZip(archive)).toEqual([`!0.jsonl = ${content}`, 'failed archive corrupt']);
  });
});

describe('damage', () => {
  const contents = ['one'.repeat(3000), 'two', `${Array.from({ length: 4000 }, (_, i) => i * 7919)}`];
  const archive = createZip(contents.map((content, index) => ({ name: `${index}.jsonl`, content })));

  test('fails for a cut at any byte, because the directory is at the end', async () => {
    await assert(
      asyncProperty(integer({ min: 0, max: archive.length - 1 }), async (length) => {
        expect(await summarizeZip(archive.subarray(0, length))).toEqual(['failed archive corrupt']);
      }),
    );
  });

  test('a flipped byte never yields a changed transcript, and neither crashes nor hangs the process', async () => {
    await assert(
      asyncProperty(
        integer({ min: 0, max: archive.length - 1 }),
        integer({ min: 1, max: 255 }),
        async (place, mask) => {
          const damaged = Buffer.from(archive);
          damaged[place] = (damaged[place] ?? 0) ^ mask;
          for (const line of await summarizeZip(damaged)) {
            if (line.includes(' = ')) expect(contents).toContain(line.slice(line.indexOf(' = ') + 3));
          }
        },
      ),
    );
  });

  test('nothing is written beside the archive', async () => {
    const folder = await createTemporaryFolder({ 'x.zip': createZip([{ name: '../evil.jsonl', content: 'x' }]) });
    expect(await summarize([folder])).toEqual(['x.zip!../evil.jsonl = x']);
    await expect(stat(join(folder, '../evil.jsonl'))).rejects.toThrow();
    expect(await readdir(folder)).toEqual(['x.zip']);
  });
});

test('names that claim to be UTF-8 and are not stay distinct', async () => {
  const archive = createZip([
    { name: 'caf?.jsonl', content: '1', method: 'stored' },
    { name: 'caf!.jsonl', content: '2', method: 'stored' },
  ]);
  const changed = archive.toString('latin1').replaceAll('caf?', 'caf\u00e9').replaceAll('caf!', 'caf\u00e8');
  expect(await summarizeZip(Buffer.from(changed, 'latin1'))).toEqual([
    '!caf\uFFFDxE9.jsonl = 1',
    '!caf\uFFFDxE8.jsonl = 2',
  ]);
});
