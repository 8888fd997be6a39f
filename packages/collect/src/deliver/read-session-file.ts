import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SentFile } from '../spool/sent-log.ts';

/** A session file whose bytes have been read and hashed up to the point to be sent. */
export interface ReadFile {
  sizeBytes: number;
  modifiedAtMs: number;
  sha256: string;
  /** True if it begins with all bytes that were last sent. */
  isContinued: boolean;
  open(fromByte: number): AsyncIterable<Uint8Array>;
}

const CHUNK_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;

/**
 * Waits until a file's size and time have not changed for `settleMs`, or `maxWaitMs` are over, because hooks fire
 * before the agent has written its last lines. Undefined if the file is gone.
 */
export async function waitUntilSettled(
  path: string,
  { settleMs, maxWaitMs, signal }: { settleMs: number; maxWaitMs: number; signal?: AbortSignal | undefined },
): Promise<{ isSettled: boolean } | undefined> {
  const deadlineMs = performance.now() + maxWaitMs;
  let earlier: string | undefined;
  for (;;) {
    const stats = await stat(path).catch(() => undefined);
    if (stats === undefined) return undefined;
    const state = `${stats.size}/${stats.mtimeMs}`;
    const ageMs = Date.now() - stats.mtimeMs;
    // Uses the clock if it is plausible, else a second look, because clocks may be wrong.
    if (ageMs >= settleMs || state === earlier) return { isSettled: true };
    if (performance.now() >= deadlineMs) return { isSettled: false };
    earlier = state;
    await sleep(settleMs, undefined, { signal });
  }
}

/**
 * Reads and hashes a file once, from its beginning to its current end. If `isSettled` is false, only up to its last
 * line feed, because the line after it is still being written. Undefined if the file is gone or there is nothing to
 * send. The file is not kept open, because on Windows, agents fail if another process has their file open.
 */
export async function readSessionFile(
  path: string,
  { earlier, isSettled }: { earlier: SentFile | undefined; isSettled: boolean },
): Promise<ReadFile | undefined> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    const sizeBytes = isSettled ? stats.size : await findEndOfLines(file, stats.size);
    if (sizeBytes === 0) return undefined;
    const { hash, prefix } = await hashFile(file, sizeBytes, earlier?.sizeBytes);
    return {
      sizeBytes,
      modifiedAtMs: stats.mtimeMs,
      sha256: hash.digest('hex'),
      isContinued: earlier !== undefined && prefix?.digest('hex') === earlier.sha256,
      open: (fromByte) => readRange(path, fromByte, sizeBytes),
    };
  } finally {
    await file.close();
  }
}

async function hashFile(
  file: FileHandle,
  sizeBytes: number,
  prefixBytes: number | undefined,
): Promise<{ hash: Hash; prefix: Hash | undefined }> {
  const hash = createHash('sha256');
  let prefix: Hash | undefined;
  const buffer = Buffer.alloc(Math.min(CHUNK_BYTES, sizeBytes));
  let position = 0;
  while (position < sizeBytes) {
    const isBeforePrefix = prefixBytes !== undefined && position < prefixBytes && prefixBytes <= sizeBytes;
    const end = Math.min(isBeforePrefix ? prefixBytes : sizeBytes, position + buffer.length);
    const { bytesRead } = await file.read(buffer, 0, end - position, position);
    if (bytesRead === 0) throw new Error(`The file was truncated while it was read, at byte ${position}`);
    hash.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
    if (position === prefixBytes) prefix = hash.copy();
  }
  return { hash, prefix };
}

/** The end of the last complete line; 0 if there is none. */
async function findEndOfLines(file: FileHandle, sizeBytes: number): Promise<number> {
  const buffer = Buffer.alloc(Math.min(CHUNK_BYTES, sizeBytes));
  for (let end = sizeBytes; end > 0; ) {
    const start = Math.max(0, end - buffer.length);
    const { bytesRead } = await file.read(buffer, 0, end - start, start);
    const index = buffer.subarray(0, bytesRead).lastIndexOf(LINE_FEED);
    if (index >= 0) return start + index + 1;
    end = start;
  }
  return 0;
}

async function* readRange(path: string, fromByte: number, endByte: number): AsyncGenerator<Uint8Array> {
  if (fromByte >= endByte) return;
  const file = await open(path, 'r');
  try {
    yield* file.createReadStream({ start: fromByte, end: endByte - 1, highWaterMark: CHUNK_BYTES, autoClose: false });
  } finally {
    await file.close();
  }
}
