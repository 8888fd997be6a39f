import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { measureSpool, readSpoolNote, removeFromSpool, type SpoolNote } from './spool-folder.ts';
import { createSpoolWriter, SpoolFullError } from './spool-writer.ts';

let folder: string;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'recount-spool-')), 'spool');
});
afterEach(() => rm(join(folder, '..'), { recursive: true }));

const toNote = (streamId: string): SpoolNote => ({
  streamId,
  sentAs: streamId,
  agent: 'codex',
  sourceFormat: 'exec-json',
  sessionId: null,
  target: { kind: 'local' },
  end: null,
  refusal: null,
});
const FIRST = '01J0000000000000000000000A';
const SECOND = '01J0000000000000000000000B';

it('keeps the bytes and their metadata, and deletes both', async () => {
  const writer = await createSpoolWriter(folder, 1000, toNote(FIRST));
  const grown = writer.growth.waitForChange(10_000);
  await writer.append(Buffer.from('one\ntw'));
  await grown;
  await Promise.all([writer.name('s'), writer.append(Buffer.from('o\n')), writer.rename(SECOND)]);
  await writer.end({ exitCode: 3, signal: null });
  expect(writer.growth).toMatchObject({ size: 8, isEnded: true });
  expect(await readFile(writer.place.bytes, 'utf8')).toBe('one\ntwo\n');
  const end = { exitCode: 3, signal: null };
  expect(await readSpoolNote(writer.place)).toEqual({ ...toNote(FIRST), sessionId: 's', sentAs: SECOND, end });
  await removeFromSpool(writer.place);
  await writer.release();
  expect(await readdir(folder)).toEqual([]);
});

it('holds no more than its bound, over all streams together', async () => {
  const first = await createSpoolWriter(folder, 10, toNote(FIRST));
  await first.append(Buffer.alloc(6));
  expect(await measureSpool(folder)).toBe(6);
  const second = await createSpoolWriter(folder, 10, toNote(SECOND));
  await expect(second.append(Buffer.alloc(5))).rejects.toThrow(SpoolFullError);
  await second.append(Buffer.alloc(4));
  for (const writer of [first, second]) {
    await writer.end(null);
    await writer.release();
  }
});
