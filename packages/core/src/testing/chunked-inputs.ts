import { Readable } from 'node:stream';
import type { TranscriptInput } from '../parse/input-chunks.ts';

export function* toPieces(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.slice(start, start + size);
}

/** Reuses one buffer for all chunks, as a source may. */
export async function* toReusedChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(size);
  for (const piece of toPieces(bytes, size)) {
    buffer.set(piece);
    yield buffer.subarray(0, piece.length);
    buffer.fill(0x58);
  }
}

/** The same bytes as every kind of input and in several chunk sizes, by name. */
export function toInputs(bytes: Uint8Array): [name: string, open: () => TranscriptInput][] {
  const sized = [1, 7, 64 * 1024].flatMap((size): [string, () => TranscriptInput][] => [
    [`async iterable of ${size}`, () => toReusedChunks(bytes, size)],
    [`Node Readable of ${size}`, () => Readable.from(toPieces(bytes, size), { objectMode: false })],
    [`web stream of ${size}`, () => ReadableStream.from(toPieces(bytes, size))],
  ]);
  return [['Uint8Array', () => bytes], ...sized];
}
