import { type Arrival, type PriceTable, streamTranscript, type TranscriptBatch } from '@recount/core';
import type { TranscriptRow } from '@recount/db';
import type { RawStore } from '@recount/storage';
import { DEFAULT_MIN_CHECKPOINT_BYTES } from '../limits.ts';
import { hashPrefixes } from '../raw-objects/hash-prefixes.ts';
import { RawObjectMismatchError } from '../raw-objects/raw-object-mismatch-error.ts';
import type { Redaction } from '../secrets/redaction.ts';
import { type ResumePoint, toBytesAfter } from './resume-point.ts';

export interface ParseOptions {
  maxLineBytes: number;
  maxInlineContentBytes?: number | undefined;
  minCheckpointBytes?: number | undefined;
  prices: PriceTable;
  arrivals?: readonly Arrival[] | undefined;
  redaction: Redaction;
  /** Parses only what follows; what precedes is read and compared. */
  resumePoint?: ResumePoint | undefined;
  signal?: AbortSignal | undefined;
}

/** Reads raw objects, from the raw store or from memory. */
export interface ObjectReader {
  get(...request: Parameters<RawStore['get']>): Promise<AsyncIterable<Uint8Array>>;
}

export interface ParsedObject {
  /**
   * Throws, at the latest after the last batch: RawObjectMismatchError, or ResumeError if the transcript must be parsed
   * without the resume point.
   */
  batches: AsyncIterable<TranscriptBatch>;
  /** Hashes of the raw object at the lengths of the other versions; complete after the last batch. */
  hashesByLength: ReadonlyMap<number, string>;
}

/** Opens the raw object. Its bytes are hashed, redacted and parsed as the batches are read. */
export async function parseRawObject(
  rawStore: ObjectReader,
  transcript: TranscriptRow,
  others: readonly TranscriptRow[],
  { resumePoint, redaction, minCheckpointBytes = DEFAULT_MIN_CHECKPOINT_BYTES, ...options }: ParseOptions,
): Promise<ParsedObject> {
  const { signal } = options;
  const tail = resumePoint?.isCompared ? toTail(resumePoint, transcript) : undefined;
  const raw = await rawStore.get(transcript.object_key, { range: tail?.range, signal });
  const lengths = tail === undefined ? others.map(({ size_bytes }) => size_bytes) : [];
  const hashes = hashPrefixes(raw, lengths);
  const isLarge = transcript.size_bytes >= minCheckpointBytes;
  const bytes = resumePoint === undefined || tail !== undefined ? hashes.chunks : toBytesAfter(resumePoint, hashes);
  const parsed = streamTranscript(transcript.session_id, redaction.redact(bytes), {
    ...options,
    longLines: 'cut',
    format: transcript.format,
    isSubagent: transcript.is_subagent,
    resumeFrom: resumePoint?.checkpoint.state,
    makeCheckpoint: isLarge && !redaction.isOn && options.arrivals === undefined,
  });
  const expected = tail?.sha256 ?? transcript.stored_sha256 ?? transcript.sha256;
  async function* checked(): AsyncGenerator<TranscriptBatch> {
    yield* redaction.withIssues(parsed);
    signal?.throwIfAborted();
    const sha256 = hashes.toDigest();
    if (sha256 !== expected) throw new RawObjectMismatchError(`Raw object has SHA-256 ${sha256}, not ${expected}`);
  }
  return { batches: checked(), hashesByLength: hashes.byLength };
}

/** The bytes after the shorter version, if the upload was compared with it when it was received. */
function toTail({ prefix }: ResumePoint, { size_bytes, tail_sha256 }: TranscriptRow) {
  return { range: { startByte: prefix.size_bytes, endByteExclusive: size_bytes }, sha256: tail_sha256 };
}
