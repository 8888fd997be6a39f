import type { TranscriptStatus } from '@recount/db';

/** Where a transcript stands once the target has it. */
export interface StoredTranscript {
  transcriptId: string;
  sessionId: string;
  status: TranscriptStatus;
  failureReason: string | null;
}

export interface Delivery {
  /** Original path: decides main session or sub-agent. */
  path: string;
  /** Decoded bytes, where known. */
  sizeBytes: number | undefined;
  /** SHA-256 (hex) of the decoded bytes, where known. */
  sha256: string | undefined;
  /** The decoded bytes; called once for each attempt. */
  open(): AsyncIterable<Uint8Array>;
}

/** What became of a delivery. */
interface Reception {
  transcript: StoredTranscript;
  /** The target had the bytes already. */
  isDuplicate: boolean;
  /** Its own copy was lost or damaged, and these bytes have taken its place. */
  isHealed: boolean;
}

/** Where a backfill brings transcripts: an API, or store and database themselves. Every method rejects with a BackfillTargetError. */
export interface BackfillTarget {
  /** Small transcripts that may be delivered at once, besides what is under way by itself. Default: none. */
  readonly maxSmallDeliveries?: number;
  /** The transcript of these bytes in this session, if the target has it, and has not found its copy lost or damaged. */
  find(
    content: { sessionId: string; sha256: string },
    signal: AbortSignal | undefined,
  ): Promise<StoredTranscript | undefined>;
  /** Stores a transcript durably, to be ingested later. Errors of the body are passed on or replaced, as it likes. */
  receive(delivery: Delivery, signal: AbortSignal | undefined): Promise<Reception>;
  /** The transcripts of at most `MAX_STATUS_IDS` ids, in any order; deleted ones are left out. */
  readStatuses(ids: readonly string[], signal: AbortSignal | undefined): Promise<StoredTranscript[]>;
  /** Sessions of the workspace that search does not find yet, but for those whose indexing failed. */
  countUnindexed(signal: AbortSignal | undefined): Promise<number>;
}

export const MAX_STATUS_IDS = 100;

/**
 * - `rejected`: this transcript cannot be accepted
 * - `unavailable`: may succeed later, as after a lost connection or too many requests
 * - `denied`: nothing will be accepted, as with a wrong API key
 */
export type BackfillTargetErrorCode = 'rejected' | 'unavailable' | 'denied';

export class BackfillTargetError extends Error {
  override name = 'BackfillTargetError';
  readonly code: BackfillTargetErrorCode;
  /** The target asks to wait this long. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: BackfillTargetErrorCode,
    message: string,
    options: { cause?: unknown; retryAfterMs?: number | undefined } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }
}
