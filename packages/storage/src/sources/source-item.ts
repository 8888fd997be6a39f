import type { Readable } from 'node:stream';
import type { SourceError } from './source-error.ts';

const MEBIBYTE = 1024 ** 2;
const GIBIBYTE = 1024 ** 3;

export interface SourceLimits {
  /** Decoded bytes of one transcript. */
  maxTranscriptBytes: number;
  /** Members of one archive, of any type. */
  maxArchiveEntries: number;
  /** Decoded bytes of one archive. */
  maxArchiveDecodedBytes: number;
  /** Decoded ÷ stored bytes of one stream, checked once more than `EXPANSION_RATIO_FLOOR_BYTES` are decoded. */
  maxExpansionRatio: number;
  /** Folder levels below a given folder. */
  maxDepth: number;
  /** Entries of one folder, which stay in memory for sorting. */
  maxFolderEntries: number;
}

/** Below this many decoded bytes no expansion ratio is suspicious. A small transcript may be very repetitive. */
export const EXPANSION_RATIO_FLOOR_BYTES = 64 * MEBIBYTE;

/**
 * Deflate cannot exceed a ratio of 1032; transcripts are near 5, an archive of many snapshots of one session near 100.
 */
export const DEFAULT_SOURCE_LIMITS: Readonly<SourceLimits> = {
  maxTranscriptBytes: 2 * GIBIBYTE,
  maxArchiveEntries: 1_000_000,
  maxArchiveDecodedBytes: 1024 * GIBIBYTE,
  maxExpansionRatio: 500,
  maxDepth: 64,
  maxFolderEntries: 1_000_000,
};

interface ItemPlace {
  /** For people: `/a/b.jsonl`, `/a/b.tar.gz!member/path.jsonl` or `s3://bucket/key`; control characters replaced. */
  location: string;
  /**
   * Stored (compressed) bytes of the input before this item. Never decreases from one item to the next; together with
   * `inputBytes` of `measureInput` it gives rate and remaining time.
   */
  consumedInputBytes: number;
}

export interface TranscriptSource extends ItemPlace {
  kind: 'transcript';
  /**
   * The name that decides session and sub-agent, without a `.gz` or `.zst` extension. It is the file's path, the S3
   * key, or the path of the archive member. In keys and members only harmless segments remain, with no root, drive, `.`
   * or `..`.
   */
  path: string;
  /** Decoded size as stated by the file or archive; more bytes come if the content turns out to be compressed. */
  sizeBytes?: number;
  modifiedAtMs?: number;
  /** False for a tar member, which can be opened once, before the iterator moves on. */
  reopenable: boolean;
  /**
   * The decoded bytes. Rejects, or the stream fails, with a `SourceError`: a stream that ends without an error is
   * complete. Destroying the stream frees its descriptor or socket.
   */
  open(): Promise<Readable>;
}

export type SkipReason =
  | 'not-a-transcript'
  | 'older-than-since'
  | 'link'
  | 'not-a-file'
  | 'nested-archive'
  | 'too-deep'
  | 'empty-folder'
  /** A session of an agent's database that has not changed since it was last read. */
  | 'unchanged';

export interface SkippedSource extends ItemPlace {
  kind: 'skipped';
  reason: SkipReason;
}

/** Could not be read, entirely or from some point on; items before it remain valid. */
export interface FailedSource extends ItemPlace {
  kind: 'failed';
  error: SourceError;
}

export type SourceItem = TranscriptSource | SkippedSource | FailedSource;

/** An item whose place in the whole input is not known yet. */
export type UnplacedItem =
  | Omit<TranscriptSource, 'consumedInputBytes'>
  | Omit<SkippedSource, 'consumedInputBytes'>
  | Omit<FailedSource, 'consumedInputBytes'>;

export function toSkipped(location: string, reason: SkipReason): Omit<SkippedSource, 'consumedInputBytes'> {
  return { kind: 'skipped', location, reason };
}

export function toFailed(location: string, error: SourceError): Omit<FailedSource, 'consumedInputBytes'> {
  return { kind: 'failed', location, error };
}
