import { type Arrival, type PriceTable, streamTranscript } from '@recount/core';
import type { TranscriptRow } from '@recount/db';
import type { RawStore } from '@recount/storage';
import type { Redaction } from '../redact/redaction.ts';
import { hashPrefixes } from './hash-prefixes.ts';
import { type ResumePoint, toBytesAfter } from './resume-point.ts';
import type { BatchWriter } from './write-batches.ts';

/** The raw object is not what was uploaded: trying again may help, going on would store wrong numbers. */
export class RawObjectMismatchError extends Error {
  override name = 'RawObjectMismatchError';
}

/**
 * Smaller transcripts get no checkpoint: to parse them anew costs less than to keep one. Real sessions reach this after
 * some fifty messages.
 */
export const DEFAULT_MIN_CHECKPOINT_BYTES = 256 * 1024;

export interface ParseRawObjectOptions {
  maxLineBytes: number;
  maxInlineContentBytes?: number | undefined;
  minCheckpointBytes?: number | undefined;
  prices: PriceTable;
  arrivals: readonly Arrival[] | undefined;
  redaction: Redaction;
  /** Parse only what follows; what precedes is read and compared. */
  resumePoint: ResumePoint | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Parses the raw object into the writer; returns its hashes at the lengths of the other versions. Throws
 * RawObjectMismatchError, and ResumeError where the transcript must be parsed without the resume point.
 */
export async function parseRawObject(
  writer: BatchWriter,
  rawStore: RawStore,
  transcript: TranscriptRow,
  others: readonly TranscriptRow[],
  { resumePoint, redaction, minCheckpointBytes = DEFAULT_MIN_CHECKPOINT_BYTES, ...options }: ParseRawObjectOptions,
): Promise<ReadonlyMap<number, string>> {
  const { signal } = options;
  const tail = resumePoint?.isCompared ? toTail(resumePoint, transcript) : undefined;
  const raw = await rawStore.get(transcript.object_key, { range: tail?.range, signal });
  const lengths = tail === undefined ? others.map(({ size_bytes }) => size_bytes) : [];
  const hashes = hashPrefixes(raw, lengths);
  const isLarge = transcript.size_bytes >= minCheckpointBytes;
  const bytes = resumePoint === undefined || tail !== undefined ? hashes.chunks : toBytesAfter(resumePoint, hashes);
  const chunks = redaction.redact(bytes);
  const batches = streamTranscript(transcript.session_id, chunks, {
    ...options,
    resumeFrom: resumePoint?.checkpoint.state,
    makeCheckpoint: isLarge && !redaction.isOn && options.arrivals === undefined,
  });
  await writer.writeAll(redaction.withIssues(batches));
  signal?.throwIfAborted();
  const sha256 = hashes.toDigest();
  const expected = tail?.sha256 ?? transcript.stored_sha256 ?? transcript.sha256;
  if (sha256 !== expected) throw new RawObjectMismatchError(`Raw object has SHA-256 ${sha256}, not ${expected}`);
  return hashes.byLength;
}

/** What follows the shorter version, where the upload was compared with that as it came in. */
function toTail({ beginning }: ResumePoint, { size_bytes, tail_sha256 }: TranscriptRow) {
  return { range: { startByte: beginning.size_bytes, endByteExclusive: size_bytes }, sha256: tail_sha256 };
}
