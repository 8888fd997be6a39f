import { createTar } from 'nanotar';
import { expect, it } from 'vitest';
import { DamagedArchiveError, MAX_MEMBER_BYTES, TOO_LARGE } from './archive-member.ts';
import { readTar } from './read-tar.ts';

const MIB = 1024 * 1024;

const toTar = (name: string, data: string): Uint8Array<ArrayBuffer> => new Uint8Array(createTar([{ name, data }]));

function toStream(chunks: Uint8Array<ArrayBuffer>[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  const left = chunks.values();
  return new ReadableStream({
    pull(controller) {
      const { value } = left.next();
      if (value === undefined) controller.close();
      else controller.enqueue(value);
    },
  });
}

/** The header of a member of any size. */
function toHeader(name: string, sizeBytes: number): Uint8Array<ArrayBuffer> {
  const header = toTar(name, 'x').slice(0, 512);
  const write = (text: string, offset: number) => header.set(new TextEncoder().encode(text), offset);
  write(`${sizeBytes.toString(8).padStart(11, '0')}\0`, 124);
  write(' '.repeat(8), 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

it('reads an archive of any size, a member at a time, and stops reading with its caller', async () => {
  let pulledCount = 0;
  let isCancelled = false;
  const content = new Uint8Array(MIB).fill(0x78);
  const endless = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull(controller) {
        controller.enqueue(toHeader(`${++pulledCount}.jsonl`, MIB));
        controller.enqueue(content);
      },
      cancel: () => {
        isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  const names: unknown[] = [];
  for await (const member of readTar(endless)) {
    names.push('name' in member && member.name);
    expect(pulledCount).toBe(names.length);
    // More than one member may have.
    if (names.length === 520) break;
  }
  expect(names.at(-1)).toBe('520.jsonl');
  expect(isCancelled).toBe(true);
});

it('names a member that is too large for the memory of a page, and reads those after it', async () => {
  const sizeBytes = MAX_MEMBER_BYTES + MIB;
  const zeros = new Uint8Array(MIB);
  const chunks = [toHeader('large.jsonl', sizeBytes), ...Array<typeof zeros>(sizeBytes / MIB).fill(zeros)];
  const found: unknown[] = [];
  for await (const member of readTar(toStream([...chunks, toTar('next.jsonl', 'x')]))) found.push(member);
  expect(found).toEqual([
    { path: 'large.jsonl', reason: TOO_LARGE },
    { name: 'next.jsonl', bytes: new TextEncoder().encode('x') },
  ]);
});

it('fails for a size that the archive does not have', async () => {
  const cut = readTar(toStream([toHeader('cut.jsonl', 500 * MIB), new Uint8Array(512)]));
  await expect(cut.next()).rejects.toThrow(DamagedArchiveError);
});
