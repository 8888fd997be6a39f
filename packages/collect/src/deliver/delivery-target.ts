/** The state of a transcript that the target has. */
export interface StoredTranscript {
  transcriptId: string;
  sessionId: string;
  status: 'queued' | 'processing' | 'ingested' | 'failed' | 'superseded';
  failureReason: string | null;
}

export interface Delivery {
  /** Original path: decides between main session and sub-agent. */
  path: string;
  /** Decoded size in bytes, if known. */
  sizeBytes: number | undefined;
  /** SHA-256 (hex) of the decoded bytes, if known. */
  sha256: string | undefined;
  /** The decoded bytes; called once for each attempt. */
  open(): AsyncIterable<Uint8Array>;
}

/** The result of a delivery. */
interface Reception {
  transcript: StoredTranscript;
  /** The target had the bytes already. */
  isDuplicate: boolean;
  /** The target's copy was lost or damaged, and these bytes replaced it. */
  isHealed: boolean;
}

/**
 * Where a backfill stores transcripts: through an API, or directly in raw store and database. Every method rejects with
 * a BackfillTargetError.
 */
export interface BackfillTarget {
  /** How many small transcripts may be delivered at once, in addition to those in progress. Default: none. */
  readonly maxSmallDeliveries?: number;
  /**
   * The transcript with these bytes in this session, if the target has it and its copy is not known to be lost or
   * damaged.
   */
  find(
    content: { sessionId: string; sha256: string },
    signal: AbortSignal | undefined,
  ): Promise<StoredTranscript | undefined>;
  /** Stores a transcript durably, to be ingested later. Errors of the body may be passed on or replaced. */
  receive(delivery: Delivery, signal: AbortSignal | undefined): Promise<Reception>;
  /** The transcripts with these ids (at most `MAX_STATUS_IDS`), in any order; deleted ones are left out. */
  readStatuses(ids: readonly string[], signal: AbortSignal | undefined): Promise<StoredTranscript[]>;
  /** Sessions of the workspace that search does not find yet, except those whose indexing failed. */
  countUnindexed(signal: AbortSignal | undefined): Promise<number>;
}

export const MAX_STATUS_IDS = 100;

/**
 * - `rejected`: this transcript cannot be accepted
 * - `unavailable`: may succeed later, e.g. after a lost connection or too many requests
 * - `denied`: nothing will be accepted, e.g. because the API key is wrong
 */
export type BackfillTargetErrorCode = 'rejected' | 'unavailable' | 'denied';

export class BackfillTargetError extends Error {
  override name = 'BackfillTargetError';
  readonly code: BackfillTargetErrorCode;
  /** How long the target asks to wait. */
  readonly retryAfterMs: number | undefined;
  /** Nothing is wrong: the target has as much to do as it takes at once. */
  readonly isBusy: boolean;

  constructor(
    code: BackfillTargetErrorCode,
    message: string,
    options: { cause?: unknown; retryAfterMs?: number | undefined; isBusy?: boolean } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
    this.isBusy = options.isBusy ?? false;
  }
}
