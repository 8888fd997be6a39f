import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { peekChunks } from '@recount/storage';
import type { TranscriptSource } from '@recount/storage/sources';

/** Shorter content stays in memory. */
const MAX_HELD_BYTES = 8 * 1024 * 1024;

/** The bytes of a source that is read once, with their hash. */
export interface HeldContent {
  sizeBytes: number;
  /** SHA-256 (hex). */
  sha256: string;
  /** May be called repeatedly until `release`. */
  open(): AsyncIterable<Uint8Array>;
  release(): Promise<void>;
}

/**
 * Reads a source and keeps its bytes for reading again, in memory, or in a temporary file if there are more than
 * `maxHeldBytes`. Rejects with a SourceError or an error of the disk.
 */
export async function holdContent(source: TranscriptSource, maxHeldBytes = MAX_HELD_BYTES): Promise<HeldContent> {
  const stream = await source.open();
  try {
    const { held, isWhole, chunks } = await peekChunks(stream as AsyncIterable<Uint8Array>, maxHeldBytes + 1);
    if (!isWhole) return await holdInFile(chunks);
    const bytes = Buffer.concat(held);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    return { sizeBytes: bytes.length, sha256, open: () => toAsync(bytes), release: async () => {} };
  } finally {
    stream.destroy();
  }
}

async function holdInFile(chunks: AsyncIterable<Uint8Array>): Promise<HeldContent> {
  const folder = await mkdtemp(join(tmpdir(), 'recount-'));
  const release = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const path = join(folder, 'content');
  const hash = createHash('sha256');
  let sizeBytes = 0;
  async function* measured(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      yield chunk;
    }
  }
  try {
    await pipeline(measured, createWriteStream(path, { mode: 0o600 }));
  } catch (error) {
    await release();
    throw error;
  }
  return { sizeBytes, sha256: hash.digest('hex'), open: () => createReadStream(path), release };
}

async function* toAsync(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
