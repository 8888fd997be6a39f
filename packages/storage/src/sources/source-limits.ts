const MEBIBYTE = 1024 ** 2;
const GIBIBYTE = 1024 ** 3;

export interface SourceLimits {
  /** Decoded bytes of one transcript. */
  maxTranscriptBytes: number;
  /** Members of one archive, of any type. */
  maxArchiveEntries: number;
  /** Decoded bytes of one archive. */
  maxArchiveDecodedBytes: number;
  /** Decoded ÷ stored bytes of one stream, watched once more than `EXPANSION_RATIO_FLOOR_BYTES` are decoded. */
  maxExpansionRatio: number;
  /** Folder levels below a given folder. */
  maxDepth: number;
  /** Entries of one folder: they are held in memory to be sorted. */
  maxFolderEntries: number;
}

/** Below this many decoded bytes no expansion ratio is suspicious: a small transcript may well be very repetitive. */
export const EXPANSION_RATIO_FLOOR_BYTES = 64 * MEBIBYTE;

/** Deflate cannot exceed a ratio of 1032; transcripts lie near 5, an archive of many snapshots of one session near 100. */
export const DEFAULT_SOURCE_LIMITS: Readonly<SourceLimits> = {
  maxTranscriptBytes: 2 * GIBIBYTE,
  maxArchiveEntries: 1_000_000,
  maxArchiveDecodedBytes: 1024 * GIBIBYTE,
  maxExpansionRatio: 500,
  maxDepth: 64,
  maxFolderEntries: 1_000_000,
};
