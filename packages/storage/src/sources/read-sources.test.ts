import { readdirSync, readlinkSync } from 'node:fs';
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { assert, asyncProperty, constantFrom, integer } from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { measureInput, readSources, type SourceItem, type TranscriptSource } from './index.ts';
import { summarize } from './testing/summarize.ts';
import { createTar } from './testing/tar-writer.ts';
import { createTemporaryFolder } from './testing/temporary-folder.ts';
import { createZip } from './testing/zip-writer.ts';

const LARGE = Buffer.from(Array.from({ length: 150_000 }, (_, i) => `{"line":${i * 7919}}\n`).join(''));

/** One input of each kind, each with a transcript too large to be read ahead. */
async function createInput(): Promise<string> {
  return await createTemporaryFolder({
    '1.jsonl': LARGE,
    '2.jsonl.gz': gzipSync(LARGE),
    '3.tar.gz': gzipSync(
      await createTar([
        { name: 'a.jsonl', content: LARGE },
        { name: 'b.jsonl', content: LARGE },
      ]),
    ),
    '4.zip': createZip([
      { name: 'c.jsonl', content: LARGE },
      { name: 'd.jsonl', content: LARGE, method: 'stored' },
    ]),
  });
}
const TRANSCRIPTS = 6;

function toTranscript(item: SourceItem | undefined): TranscriptSource {
  if (item?.kind !== 'transcript') throw new Error(`a transcript was expected, not ${item?.kind}`);
  return item;
}

function countOpenFiles(folder: string): number {
  return readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(folder);
    } catch {
      return false;
    }
  }).length;
}

/** Descriptors of destroyed streams close a moment later. */
async function expectNoOpenFiles(folder: string): Promise<void> {
  await vi.waitFor(() => expect(countOpenFiles(folder)).toBe(0));
}

describe('a transcript', () => {
  test('is decoded by its bytes, not by its name', async () => {
    const folder = await createTemporaryFolder({
      'a.jsonl': gzipSync('gzip'),
      'b.jsonl': zstdCompressSync('zstd'),
      'c.jsonl.gz': 'plain',
      'd.jsonl.zst': Buffer.concat([zstdCompressSync('two '), zstdCompressSync('frames')]),
      'e.jsonl.gz': Buffer.concat([gzipSync('two '), gzipSync('members')]),
      'f.jsonl': '',
      'g.jsonl': createZip([{ name: 'x.jsonl', content: 'x' }]),
    });
    const lines = [
      'a.jsonl = gzip',
      'b.jsonl = zstd',
      'c.jsonl.gz = plain',
      'd.jsonl.zst = two frames',
      'e.jsonl.gz = two members',
      'f.jsonl = ',
    ];
    expect(await summarize([folder])).toEqual([...lines, 'g.jsonl ! unsupported']);
    // Named as a separate path, its content is checked first.
    expect(await summarize([join(folder, 'g.jsonl')])).toEqual(['!x.jsonl = x']);
  });

  test('opens any number of times, also after the end', async () => {
    const folder = await createTemporaryFolder({ 'a.jsonl': LARGE, 'b.jsonl.gz': gzipSync(LARGE) });
    const sources: TranscriptSource[] = [];
    for await (const item of readSources([folder])) sources.push(toTranscript(item));
    const contents = await Promise.all([...sources, ...sources].map(async (source) => buffer(await source.open())));
    expect(contents.every((content) => content.equals(LARGE))).toBe(true);
    await expectNoOpenFiles(folder);
  });

  test('is read to its end if it grew since it was listed', async () => {
    const folder = await createTemporaryFolder({ 'a.jsonl': 'one\n' });
    for await (const item of readSources([folder])) {
      await appendFile(join(folder, 'a.jsonl'), 'two\n');
      expect(await text(await toTranscript(item).open())).toBe('one\ntwo\n');
    }
  });

  test('is read as what it is, of any length, if it grew since it was listed, or was compressed', async () => {
    for (const content of [
      Buffer.alloc(0),
      Buffer.from('x'),
      LARGE.subarray(0, 200_000),
      LARGE,
      gzipSync('packed\n'),
    ]) {
      const folder = await createTemporaryFolder({ 'a.jsonl': 'one\n' });
      for await (const item of readSources([folder])) {
        await writeFile(join(folder, 'a.jsonl'), content);
        const expected = content[0] === 0x1f ? Buffer.from('packed\n') : content;
        expect((await buffer(await toTranscript(item).open())).equals(expected)).toBe(true);
      }
      await expectNoOpenFiles(folder);
    }
  });

  test('compressed and truncated at any byte is an error', async () => {
    const contents = { gz: gzipSync(LARGE.subarray(0, 50_000)), zst: zstdCompressSync(LARGE.subarray(0, 50_000)) };
    await assert(
      asyncProperty(constantFrom('gz', 'zst'), integer({ min: 0, max: 99_999 }), async (ending, cut) => {
        const content = contents[ending];
        const folder = await createTemporaryFolder({
          [`a.jsonl.${ending}`]: content.subarray(0, Math.floor((content.length * cut) / 100_000)),
        });
        expect(await summarize([folder])).toEqual([
          expect.stringMatching(/^(a\.jsonl\.\w+ !|failed a\.jsonl\.\w+) truncated$/),
        ]);
      }),
    );
  });

  test('is stopped within a chunk of its limit if it is a bomb', async () => {
    const folder = await createTemporaryFolder({ 'a.jsonl.gz': gzipSync(Buffer.alloc(100 * 1024 ** 2)) });
    for (const [limits, maxBytes] of [
      [{ maxTranscriptBytes: 5_000_000 }, 5_000_000],
      [{}, 65 * 1024 ** 2],
    ] as const) {
      let readBytes = 0;
      const read = async () => {
        for await (const item of readSources([folder], { limits })) {
          for await (const chunk of await toTranscript(item).open()) readBytes += chunk.length;
        }
      };
      await expect(read()).rejects.toMatchObject({ name: 'SourceError', code: 'limit-exceeded' });
      expect(readBytes).toBeLessThanOrEqual(maxBytes);
    }
  });
});

describe('leaving early', () => {
  test('closes what is open, wherever the loop ends', async () => {
    const folder = await createInput();
    for (let leaveAfter = 1; leaveAfter <= TRANSCRIPTS; leaveAfter += 1) {
      let seen = 0;
      const errors: Promise<unknown>[] = [];
      for await (const item of readSources([folder])) {
        seen += 1;
        const stream = await toTranscript(item).open();
        const chunks = stream[Symbol.asyncIterator]();
        await chunks.next();
        if (seen < leaveAfter) continue;
        errors.push(buffer(stream).catch((error) => error.name));
        expect(countOpenFiles(folder)).toBeGreaterThan(0);
        break;
      }
      expect(seen).toBe(leaveAfter);
      await expectNoOpenFiles(folder);
      expect(await Promise.all(errors)).toEqual([expect.stringMatching(/AbortError|SourceError/)]);
    }
  });

  test('closes unread streams silently', async () => {
    const folder = await createInput();
    const items = readSources([folder]);
    for (let i = 0; i < TRANSCRIPTS; i += 1) await toTranscript((await items.next()).value ?? undefined).open();
    await items.return();
    await expectNoOpenFiles(folder);
  });
});

describe('aborting', () => {
  test('throws the reason and closes what is open', async () => {
    const folder = await createInput();
    for (let abortAt = 1; abortAt <= TRANSCRIPTS; abortAt += 1) {
      const controller = new AbortController();
      let seen = 0;
      let reading: Promise<unknown> | undefined;
      const read = async () => {
        for await (const item of readSources([folder], { signal: controller.signal })) {
          seen += 1;
          reading = buffer(await toTranscript(item).open()).catch((error) => error.name);
          if (seen === abortAt) controller.abort(new Error('enough'));
        }
      };
      await expect(read()).rejects.toThrow('enough');
      expect(seen).toBe(abortAt);
      expect(await reading).toBe('AbortError');
      await expectNoOpenFiles(folder);
    }
  });

  test('reads nothing before the start', async () => {
    const items = readSources(['/'], { signal: AbortSignal.abort(new Error('never')) });
    await expect(items.next()).rejects.toThrow('never');
  });
});

describe('progress', () => {
  test('never falls and reaches the measured total', async () => {
    const folder = await createInput();
    const measure = await measureInput([folder, join(folder, '1.jsonl'), join(folder, 'gone')]);
    expect(measure).toMatchObject({ transcriptFiles: 3, archives: 2 });
    const consumed: number[] = [];
    for await (const item of readSources([folder, join(folder, '1.jsonl'), join(folder, 'gone')])) {
      consumed.push(item.consumedInputBytes);
    }
    expect(consumed).toEqual([...consumed].sort((a, b) => a - b));
    expect(consumed[0]).toBe(0);
    expect(new Set(consumed).size).toBeGreaterThan(TRANSCRIPTS);
    expect(consumed.at(-1)).toBe(measure.inputBytes);
  });

  test('measures what would be read, and only that', async () => {
    const folder = await createTemporaryFolder({ 'a.jsonl': 'four', 'b.txt': 'no', 'c/d.tar': '12' });
    expect(await measureInput([folder])).toEqual({ transcriptFiles: 1, archives: 1, inputBytes: 6 });
    expect(await measureInput([folder], { sinceMs: Date.now() + 60_000 })).toMatchObject({ inputBytes: 0 });
  });
});
