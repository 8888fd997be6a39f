import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { assert, asyncProperty, constantFrom, integer } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readSources } from './read-sources.ts';
import type { TranscriptSource } from './source-item.ts';
import { summarize } from './testing/summarize.ts';
import { createTar, type TarMember } from './testing/tar-writer.ts';
import { createTemporaryFolder } from './testing/temporary-folder.ts';

const BLOCK_BYTES = 512;

async function summarizeTar(archive: Buffer, options = {}, name = 'x.tar'): Promise<string[]> {
  const folder = await createTemporaryFolder({ [name]: archive });
  return (await summarize([folder], options)).map((line) => line.replace(`${name}!`, '!').replace(name, 'archive'));
}

/** Incompressible blocks, so that cuts hit all kinds of places. */
function pseudoRandomText(bytes: number): string {
  let state = 1;
  return Array.from({ length: bytes }, () => {
    state = (state * 48271) % 2147483647;
    return String.fromCharCode(33 + (state % 90));
  }).join('');
}

/** The archive with names that are not UTF-8: `?` becomes 0xE9. */
function withByteNames(archive: Buffer): Buffer {
  const changed = Buffer.from(archive);
  for (let start = 0; start < changed.length; start += BLOCK_BYTES) {
    const block = changed.subarray(start, start + BLOCK_BYTES);
    if (!block.includes('caf?')) continue;
    for (let at = block.indexOf('?'); at >= 0; at = block.indexOf('?')) block[at] = 0xe9;
    if (!block.includes('ustar')) continue;
    block.fill(' ', 148, 156);
    block.write(
      `${block
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
    );
  }
  return changed;
}

const MEMBERS: TarMember[] = [
  { name: 'p/s.jsonl', content: 'one' },
  { name: 'p/notes.txt', content: 'no' },
  { name: 'p/s/subagents/agent-1.jsonl', content: 'two' },
  { name: 'p/empty.jsonl', content: '' },
];
const MEMBER_LINES = [
  '!p/s.jsonl = one',
  'skipped !p/notes.txt not-a-transcript',
  '!p/s/subagents/agent-1.jsonl = two',
  '!p/empty.jsonl = ',
];

describe('a tar archive', () => {
  test('yields the wanted files instead of transcripts, as they are stored', async () => {
    const packed = gzipSync('of a tool');
    const archive = await createTar([...MEMBERS, { name: 'p/s/results/packed.jsonl.gz', content: packed }]);
    const wants = (path: string): boolean => path.includes('/results/') || path.endsWith('.txt');
    const folder = await createTemporaryFolder({
      'x.tar.gz': gzipSync(archive),
      'a.jsonl': 'a',
      'results/a.zip': archive,
    });
    const items = [];
    for await (const item of readSources([folder], { wants })) if (item.kind === 'transcript') items.push(item);
    const contents: Buffer[] = [];
    for await (const item of readSources([folder], { wants })) {
      if (item.kind === 'transcript') contents.push(await buffer(await item.open()));
    }
    expect(items.map(({ path }) => path.replace(folder, ''))).toEqual([
      ...['/results/a.zip', 'p/notes.txt', 'p/s/results/packed.jsonl.gz'],
    ]);
    expect(contents).toEqual([archive, Buffer.from('no'), packed]);
    // The members have no time, but the archive has.
    for (const { modifiedAtMs } of items) expect(modifiedAtMs).toBeGreaterThan(0);
    expect(await summarize([join(folder, 'a.jsonl')], { wants })).toEqual(['skipped  not-a-transcript']);
    const tooLong = { wants, limits: { maxTranscriptBytes: 3 } };
    expect(await summarize([folder], tooLong)).toContain('failed x.tar.gz!p/s/results/packed.jsonl.gz limit-exceeded');
  });

  test.each(['x.tar', 'x.tar.gz', 'x.tgz', 'x.tar.zst', 'x.zip'])(
    'is recognised by its bytes, plain as %s',
    async (name) => {
      const archive = await createTar(MEMBERS);
      expect(await summarizeTar(archive, {}, name)).toEqual(MEMBER_LINES);
      expect(await summarizeTar(gzipSync(archive), {}, name)).toEqual(MEMBER_LINES);
      expect(await summarizeTar(zstdCompressSync(archive), {}, name)).toEqual(MEMBER_LINES);
    },
  );

  test('is read under any name if it is named', async () => {
    const folder = await createTemporaryFolder({ 'backup.bin': gzipSync(await createTar(MEMBERS)) });
    const lines = await summarize([join(folder, 'backup.bin')]);
    expect(lines).toEqual(MEMBER_LINES);
  });

  test('older than ustar is recognised by its name, as it has no magic', async () => {
    const archive = await createTar([{ name: 'a.jsonl', content: 'old' }]);
    archive.fill(0, 257, 265);
    let sum = 8 * 32;
    for (let i = 0; i < BLOCK_BYTES; i += 1) sum += i >= 148 && i < 156 ? 0 : (archive[i] ?? 0);
    archive.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    expect(await summarizeTar(archive)).toEqual(['!a.jsonl = old']);
  });

  test('may be several gzip members or zstd frames', async () => {
    const archive = await createTar(MEMBERS);
    const halves = [archive.subarray(0, 1000), archive.subarray(1000)];
    expect(await summarizeTar(Buffer.concat(halves.map((half) => gzipSync(half))))).toEqual(MEMBER_LINES);
    expect(await summarizeTar(Buffer.concat(halves.map((half) => zstdCompressSync(half))))).toEqual(MEMBER_LINES);
  });

  test('yields compressed members decoded, recognised by their bytes', async () => {
    const archive = await createTar([
      { name: 'a.jsonl.gz', content: gzipSync('a') },
      { name: 'b.jsonl.zst', content: zstdCompressSync('b') },
      { name: 'c.jsonl', content: gzipSync('c') },
      { name: 'd.jsonl.gz', content: 'd' },
    ]);
    expect(await summarizeTar(archive)).toEqual([
      '!a.jsonl.gz = a',
      '!b.jsonl.zst = b',
      '!c.jsonl = c',
      '!d.jsonl.gz = d',
    ]);
  });

  test('describes its members', async () => {
    const longName = `${'folder/'.repeat(40)}é.jsonl`;
    const folder = await createTemporaryFolder({
      'x.tar': await createTar([
        { name: 'a.jsonl', content: 'four', modifiedAtMs: 1_700_000_000_000 },
        { name: '/home/me/../b.jsonl.gz', content: gzipSync('b') },
        { name: longName, content: 'c' },
      ]),
    });
    const location = join(folder, 'x.tar');
    const items: unknown[] = [];
    for await (const item of readSources([folder])) items.push({ ...item, open: undefined });
    const common = { kind: 'transcript', reopenable: false, consumedInputBytes: expect.any(Number) };
    expect(items).toEqual([
      { ...common, location: `${location}!a.jsonl`, path: 'a.jsonl', sizeBytes: 4, modifiedAtMs: 1_700_000_000_000 },
      { ...common, location: `${location}!/home/me/../b.jsonl.gz`, path: 'home/me/b.jsonl' },
      { ...common, location: `${location}!${longName}`, path: longName, sizeBytes: 1 },
    ]);
  });

  test('may contain links, devices, folders, archives and old members, which are not read', async () => {
    const archive = await createTar([
      { name: 'dir.jsonl', type: 'directory' },
      { name: 'l.jsonl', type: 'symlink', linkname: '/etc/passwd' },
      { name: 'h.jsonl', type: 'link', linkname: 'a.jsonl' },
      { name: 'f.jsonl', type: 'fifo' },
      { name: 'c.jsonl', type: 'character-device' },
      { name: 'n.tar.gz', content: gzipSync('x') },
      { name: 'n.zip', content: 'PK' },
      { name: 'old.jsonl', content: 'o', modifiedAtMs: 1_000_000 },
      { name: 'unknown-time.jsonl', content: 'u', modifiedAtMs: 0 },
    ]);
    expect(await summarizeTar(archive, { sinceMs: 2_000_000 })).toEqual([
      'skipped !l.jsonl link',
      'skipped !h.jsonl link',
      'skipped !f.jsonl not-a-file',
      'skipped !c.jsonl not-a-file',
      'skipped !n.tar.gz nested-archive',
      'skipped !n.zip nested-archive',
      'skipped !old.jsonl older-than-since',
      '!unknown-time.jsonl = u',
    ]);
  });

  test('returns all members of one name, in order, as an archive with a file appended twice has them', async () => {
    const members = ['one', 'two', 'three'].map((content) => ({ name: 'p/s.jsonl', content }));
    expect(await summarizeTar(await createTar(members))).toEqual([
      '!p/s.jsonl = one',
      '!p/s.jsonl = two',
      '!p/s.jsonl = three',
    ]);
  });

  test('is read beyond its end mark, as archives that were put together have several', async () => {
    const parts = await Promise.all(['one', 'two'].map((content) => createTar([{ name: 's.jsonl', content }])));
    expect(await summarizeTar(Buffer.concat(parts))).toEqual(['!s.jsonl = one', '!s.jsonl = two']);
  });

  test('passes over nothing but empty folders without a word', async () => {
    const lines = await summarizeTar(
      await createTar([
        { name: 'folder/', type: 'directory' },
        { name: 'old-folder/' },
        { name: 'file.jsonl/', content: 'text' },
        { name: 'link.jsonl/', type: 'symlink', linkname: 'x' },
      ]),
    );
    expect(lines).toEqual(['skipped !file.jsonl/ not-a-file', 'skipped !link.jsonl/ link']);
  });

  test('fails members it cannot return and continues', async () => {
    const archive = await createTar([
      { name: 'sparse.jsonl', content: 'map', pax: { 'GNU.sparse.major': '1' } },
      { name: `${'n'.repeat(5000)}.jsonl`, content: 'x' },
      { name: 'tar.jsonl', content: await createTar(MEMBERS) },
      { name: 'twice.jsonl.gz', content: gzipSync(gzipSync('x')) },
      { name: 'cut.jsonl.gz', content: gzipSync('x').subarray(0, 15) },
      { name: 'good.jsonl', content: 'good' },
    ]);
    expect((await summarizeTar(archive)).map((line) => line.replace(/n{4000,}/, 'n…'))).toEqual([
      'failed !sparse.jsonl unsupported',
      'failed !n… limit-exceeded',
      '!tar.jsonl ! unsupported',
      '!twice.jsonl.gz ! unsupported',
      '!cut.jsonl.gz ! truncated',
      '!good.jsonl = good',
    ]);
  });

  test('inside another kind of compression is not opened', async () => {
    const folder = await createTemporaryFolder({ 'x.tar.bz2': 'BZh91AY' });
    expect(await summarize([join(folder, 'x.tar.bz2')])).toEqual(['failed  unsupported']);
    expect(await summarizeTar(Buffer.from('no archive at all'.repeat(100)))).toEqual(['failed archive corrupt']);
  });
});

describe('a member stream', () => {
  async function withTranscripts(members: TarMember[], visit: (source: TranscriptSource) => Promise<void>) {
    const folder = await createTemporaryFolder({ 'x.tar.gz': gzipSync(await createTar(members)) });
    for await (const item of readSources([folder])) {
      if (item.kind !== 'transcript') throw new Error(item.kind);
      await visit(item);
    }
  }
  const large = [
    { name: '1.jsonl', content: pseudoRandomText(3_000_000) },
    { name: '2.jsonl', content: 'two' },
    { name: '3.jsonl', content: 'three' },
  ];

  test('may be left unopened, unread or half read', async () => {
    for (const leave of [
      async () => {},
      async (source: TranscriptSource) => void (await source.open()),
      async (source: TranscriptSource) => void (await (await source.open())[Symbol.asyncIterator]().next()),
      async (source: TranscriptSource) => void (await source.open()).destroy(),
    ]) {
      const names: string[] = [];
      await withTranscripts(large, async (source) => {
        names.push(source.path);
        if (source.path === '3.jsonl') expect(await text(await source.open())).toBe('three');
        else await leave(source);
      });
      expect(names).toEqual(['1.jsonl', '2.jsonl', '3.jsonl']);
    }
  });

  test('fails when the iterator moves on before its end', async () => {
    let first: Promise<unknown> | undefined;
    await withTranscripts(large, async (source) => {
      if (source.path === '1.jsonl') first = buffer(await source.open()).catch((error) => error);
    });
    expect(await first).toMatchObject({ name: 'SourceError', code: 'closed' });
  });

  test('opens once, and only while it is the current item', async () => {
    const sources: TranscriptSource[] = [];
    await withTranscripts(large, async (source) => {
      sources.push(source);
      if (source.path !== '2.jsonl') return;
      expect(await text(await source.open())).toBe('two');
      await expect(source.open()).rejects.toMatchObject({ code: 'closed' });
      await expect(sources[0]?.open()).rejects.toMatchObject({ code: 'closed' });
    });
    expect(sources).toHaveLength(3);
  });
});

describe('limits', () => {
  test('end the archive after what came before, for members and decoded bytes', async () => {
    const archive = await createTar(MEMBERS);
    expect(await summarizeTar(archive, { limits: { maxArchiveEntries: 2 } })).toEqual([
      ...MEMBER_LINES.slice(0, 2),
      'failed archive limit-exceeded',
    ]);
    const large = await createTar([
      { name: 'a.jsonl', content: 'a' },
      { name: 'b.jsonl', content: 'b'.repeat(5_000_000) },
    ]);
    expect(await summarizeTar(gzipSync(large), { limits: { maxArchiveDecodedBytes: 2_000_000 } })).toEqual([
      '!a.jsonl = a',
      '!b.jsonl ! limit-exceeded',
      'failed archive limit-exceeded',
    ]);
  });

  test('leave the others unaffected if one transcript exceeds them', async () => {
    const archive = await createTar([
      { name: 'declared.jsonl', content: 'x'.repeat(10_001) },
      { name: 'bomb.jsonl.gz', content: gzipSync(Buffer.alloc(5_000_000)) },
      { name: 'good.jsonl', content: 'x'.repeat(10_000) },
    ]);
    expect(await summarizeTar(archive, { limits: { maxTranscriptBytes: 10_000 } })).toEqual([
      'failed !declared.jsonl limit-exceeded',
      '!bomb.jsonl.gz ! limit-exceeded',
      `!good.jsonl = ${'x'.repeat(10_000)}`,
    ]);
  });

  test('stop a bomb by its expansion', async () => {
    const bomb = await createTar([{ name: 'a.jsonl', content: Buffer.alloc(100 * 1024 ** 2, 'a') }]);
    expect(await summarizeTar(gzipSync(bomb))).toEqual(['!a.jsonl ! limit-exceeded', 'failed archive limit-exceeded']);
  });
});

describe('damage', () => {
  const contents = [pseudoRandomText(700), 'two', pseudoRandomText(40_000), 'four'];
  const members = contents.map((content, index) => ({ name: `${index}.jsonl`, content }));
  const wholeLines = contents.map((content, index) => `!${index}.jsonl = ${content}`);

  test('an archive cut at any byte never passes as a whole one', async () => {
    const tar = await createTar(members);
    const archives = { tar, gzip: gzipSync(tar), zstd: zstdCompressSync(tar) };
    await assert(
      asyncProperty(constantFrom('tar', 'gzip', 'zstd'), integer({ min: 0, max: 99_999 }), async (kind, cut) => {
        const archive = archives[kind];
        const lines = await summarizeTar(archive.subarray(0, Math.floor((archive.length * cut) / 100_000)));
        const good = lines.filter((line) => line.includes(' = '));
        expect(good).toEqual(wholeLines.slice(0, good.length));
        // Half an end mark is accepted as an end mark.
        if (good.length < contents.length || kind !== 'tar') expect(lines.at(-1)).toBe('failed archive truncated');
      }),
    );
  });

  test('all members before a cut are returned', async () => {
    const tar = await createTar(members);
    for (const archive of [tar, gzipSync(tar)]) {
      const lines = await summarizeTar(archive.subarray(0, archive.length - 1500));
      expect(lines.slice(0, 2)).toEqual(wholeLines.slice(0, 2));
      expect(lines.at(-1)).toBe('failed archive truncated');
    }
    const lines = await summarizeTar(tar.subarray(0, -2 * BLOCK_BYTES));
    expect(lines).toEqual([...wholeLines, 'failed archive truncated']);
  });

  test('flipped bytes neither crash nor hang the process', async () => {
    const tar = await createTar(members);
    await assert(
      asyncProperty(integer({ min: 0, max: tar.length - 1 }), integer({ min: 1, max: 255 }), async (place, mask) => {
        const damaged = Buffer.from(tar);
        damaged[place] = (damaged[place] ?? 0) ^ mask;
        expect((await summarizeTar(damaged)).length).toBeGreaterThan(0);
      }),
    );
  });
});

test('names that are not UTF-8 stay distinct, and fail their member if a pax header has them', async () => {
  const archive = await createTar([
    { name: 'caf?/a.jsonl', content: '1' },
    { name: 'placeholder', content: '2', pax: { path: 'caf?/b\u00e9.jsonl' } },
    { name: 'placeholder', content: '2', pax: { path: 'caf?/notes.txt' } },
    { name: 'caf\u00e9/a.jsonl', content: '3' },
    { name: 'placeholder', content: '4', pax: { path: 'g\u00fc/\u6570.jsonl' } },
    { name: 'n\u001b.jsonl', content: '5' },
  ]);
  expect(await summarizeTar(withByteNames(archive))).toEqual([
    '!caf\uFFFDxE9/a.jsonl = 1',
    expect.stringMatching(/^failed !caf.*\/b\u00e9.jsonl unsupported$/),
    expect.stringMatching(/^skipped !caf.*\/notes.txt not-a-transcript$/),
    '!caf\u00e9/a.jsonl = 3',
    '!g\u00fc/\u6570.jsonl = 4',
    '!n\uFFFDx1B.jsonl = 5',
  ]);
});
