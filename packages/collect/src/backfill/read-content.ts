import { createHash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import type { Readable } from 'node:stream';
import { createTranscriptHead, IDENTIFY_HEAD_BYTES, type Refusal, type TranscriptIdentity } from '@recount/core';
import { peekChunks } from '@recount/storage';
import { SourceError, type TranscriptSource } from '@recount/storage/sources';
import { readBeginning } from '../find/read-beginning.ts';
import type { BackfillSkipReason } from './backfill-report.ts';

/** A transcript, read enough for its delivery. */
export interface SourceContent {
  sessionId: string | undefined;
  /** The folder where the session ran, if it is a file of this machine that names one. */
  workingDirectory: string | null;
  /** For all bytes; undefined for a transcript that is too long to hold and can be opened only once. */
  measure: { sha256: string; sizeBytes: number } | undefined;
  /** May be called repeatedly, unless `measure` is undefined. */
  open(): AsyncIterable<Uint8Array>;
}

const LINE_FEED = 0x0a;

/**
 * Reads a source until its transcript is identified and, if possible, hashed; returns the reason if it is not to be
 * ingested. A source of at most `maxHeldBytes` is read once and held. A longer one is read to its end and opened again
 * for delivery, or, if it can be opened only once, kept open after its beginning. Rejects with a SourceError, or with
 * the aborted signal's reason.
 */
export async function readContent(
  source: TranscriptSource,
  maxHeldBytes: number,
  signal: AbortSignal,
): Promise<SourceContent | BackfillSkipReason> {
  const stream = await source.open();
  let isKeptOpen = false;
  try {
    const { held, isWhole, chunks } = await peekChunks(abortable(stream, signal), maxHeldBytes + 1);
    const head = createTranscriptHead({ path: source.path });
    for (const chunk of held) head.add(chunk);
    const identity = head.finish();
    const skipReason = toSkipReason(identity, held, { isWhole, path: source.path });
    if (skipReason !== undefined) return skipReason;
    const { sessionId } = identity;
    const workingDirectory = readWorkingDirectory(source.path, identity, held);
    if (isWhole) {
      return { sessionId, workingDirectory, measure: await measure(toAsync(held)), open: () => toAsync(held) };
    }
    if (source.reopenable) {
      const measured = await measure(chunks);
      return { sessionId, workingDirectory, measure: measured, open: () => reopen(source, measured) };
    }
    isKeptOpen = true;
    return { sessionId, workingDirectory, measure: undefined, open: () => closing(chunks, stream) };
  } finally {
    if (!isKeptOpen) stream.destroy();
  }
}

/**
 * The same refusals as for uploads, except if the first line is too long to be checked completely. Documents are
 * transcripts only if their format is known.
 */
function toSkipReason(
  { format, encoding, isRecognised, isPromptHistory }: TranscriptIdentity,
  held: readonly Uint8Array[],
  { isWhole, path }: { isWhole: boolean; path: string },
): Refusal | undefined {
  if (held.every(({ length }) => length === 0)) return 'empty';
  if (format !== undefined) return undefined;
  if (encoding !== undefined) return encoding;
  if (isPromptHistory) return 'prompt-history';
  if (/\.json$/i.test(path)) return 'unknown-format';
  const hasTellingLine = isWhole || Buffer.concat(held).subarray(0, IDENTIFY_HEAD_BYTES).includes(LINE_FEED);
  return hasTellingLine && !isRecognised ? 'unknown-format' : undefined;
}

/** Most sessions state in their first lines where they run. Nearly all others do so before the second bound. */
const LOOK_BYTES = [4 * 1024, 64 * 1024];

/** Paths of a bucket or archive are relative; its sessions ran on other machines, whose folders may have the same names. */
function readWorkingDirectory(path: string, identity: TranscriptIdentity, held: readonly Uint8Array[]): string | null {
  if (!isAbsolute(path)) return null;
  for (const lookBytes of LOOK_BYTES) {
    const head = joinBeginning(held, lookBytes);
    const { workingDirectory } = readBeginning(path, head, identity);
    if (workingDirectory !== null || head.length < lookBytes) return workingDirectory;
  }
  return null;
}

/** The first `maxBytes` of the chunks. They are copied only if the first chunk is shorter. */
function joinBeginning(chunks: readonly Uint8Array[], maxBytes: number): Uint8Array {
  const [first = new Uint8Array()] = chunks;
  if (first.length >= maxBytes || chunks.length <= 1) return first.subarray(0, maxBytes);
  const parts: Uint8Array[] = [];
  for (let index = 0, length = 0; index < chunks.length && length < maxBytes; index++) {
    const chunk = chunks[index] ?? new Uint8Array();
    parts.push(chunk);
    length += chunk.length;
  }
  return Buffer.concat(parts).subarray(0, maxBytes);
}

async function* abortable(stream: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) {
    signal.throwIfAborted();
    yield chunk;
  }
}

async function measure(chunks: AsyncIterable<Uint8Array>): Promise<{ sha256: string; sizeBytes: number }> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    sizeBytes += chunk.length;
  }
  return { sha256: hash.digest('hex'), sizeBytes };
}

async function* toAsync(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** The bytes that were measured: later appends are left to the next run. */
async function* reopen(
  source: TranscriptSource,
  { sha256, sizeBytes }: { sha256: string; sizeBytes: number },
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of await source.open()) {
    const part = (chunk as Buffer).subarray(0, sizeBytes - length);
    hash.update(part);
    length += part.length;
    yield part;
    if (length === sizeBytes) break;
  }
  if (hash.digest('hex') !== sha256)
    throw new SourceError('changed', 'was rewritten between two readings; run it again');
}

async function* closing(chunks: AsyncIterable<Uint8Array>, stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } finally {
    stream.destroy();
  }
}
