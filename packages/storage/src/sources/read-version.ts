import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { SourceError } from './source-error.ts';
import type { ByteRange } from './stored-object.ts';

const READ_CHUNK_BYTES = 256 * 1024;

/**
 * The bytes that an open file had when it was opened, and no others: what is appended meanwhile is left to the next
 * reading. Fails with `changed` where the file is cut, or where others are in their place after the last one was read, so
 * that parts of two versions never pass for one. Closes the file.
 */
export async function* readVersion(
  handle: FileHandle,
  opened: Stats,
  range: ByteRange = { start: 0, end: opened.size },
): AsyncGenerator<Buffer> {
  try {
    const end = Math.min(range.end, opened.size);
    let sum = 0;
    for await (const chunk of readBytes(handle, range.start, end)) {
      sum = crc32(chunk, sum);
      yield chunk;
    }
    if (!(await hasChanged(handle, opened))) return;
    let sumNow = 0;
    for await (const chunk of readBytes(handle, range.start, end)) sumNow = crc32(chunk, sumNow);
    if (sumNow !== sum) throw toChanged('was rewritten');
  } finally {
    await handle.close();
  }
}

async function* readBytes(handle: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let position = start; position < end; ) {
    const length = Math.min(READ_CHUNK_BYTES, end - position);
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.allocUnsafeSlow(length), position });
    if (bytesRead === 0) throw toChanged('was cut');
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function hasChanged(handle: FileHandle, opened: Stats): Promise<boolean> {
  const { size, mtimeMs } = await handle.stat();
  if (size < opened.size) throw toChanged('was cut');
  return size !== opened.size || mtimeMs !== opened.mtimeMs;
}

const toChanged = (what: string): SourceError =>
  new SourceError('changed', `${what} while it was being read: run it again`);
