import { Readable } from 'node:stream';
import type { RawStore } from '@recount/storage';

const LINE_FEED = 0x0a;

/**
 * The bytes of the line that starts at `byteOffset` of a raw object, without its line feed; reads no further. Undefined
 * if no line starts there. Throws RawStoreError; once there is a stream, such an error is on the stream.
 */
export async function readLineAt(
  rawStore: Pick<RawStore, 'get'>,
  object: { key: string; sizeBytes: number },
  byteOffset: number,
): Promise<Readable | undefined> {
  if (byteOffset >= object.sizeBytes) return undefined;
  // The byte before shows whether a line starts here.
  const startByte = Math.max(0, byteOffset - 1);
  const source = await rawStore.get(object.key, { range: { startByte } });
  const chunks: AsyncIterator<Buffer, undefined> = source[Symbol.asyncIterator]();
  const first = (await chunks.next()).value ?? Buffer.alloc(0);
  if (byteOffset > 0 && first[0] !== LINE_FEED) {
    source.destroy();
    return undefined;
  }
  const line = Readable.from(readToLineFeed(byteOffset > 0 ? first.subarray(1) : first, chunks), { objectMode: false });
  return line.once('close', () => source.destroy());
}

async function* readToLineFeed(first: Buffer, rest: AsyncIterator<Buffer, undefined>): AsyncGenerator<Buffer> {
  for (let chunk: Buffer | undefined = first; chunk !== undefined; chunk = (await rest.next()).value) {
    const end = chunk.indexOf(LINE_FEED);
    const bytes = end < 0 ? chunk : chunk.subarray(0, end);
    if (bytes.length > 0) yield bytes;
    if (end >= 0) return;
  }
}
