/** The state of a transcript that the target has. */
export interface StoredTranscript {
  transcriptId: string;
  sessionId: string;
  status: 'queued' | 'processing' | 'ingested' | 'failed' | 'superseded';
  failureReason: string | null;
}

/** A transcript to be delivered. */
export interface TranscriptDelivery {
  /** Its path at the agent, without a compression extension: decides between main session and sub-agent. */
  path: string;
  agent?: string | undefined;
  /** The remote's address, or else the main folder, of the repository that the session ran in, if git tells one. */
  repository?: string | undefined;
  /** Folder of the worktree of that repository. */
  worktree?: string | undefined;
  /** Size of the bytes to be delivered, which are compressed if there is an encoding. Undefined if unknown. */
  sizeBytes: number | undefined;
  /** SHA-256 (hex) of these bytes, if known. */
  sha256: string | undefined;
  encoding?: 'gzip' | 'zstd' | undefined;
  /** The stored transcript that this one is known to begin with. Its size and hash are then known. */
  base?: { transcriptId: string; sizeBytes: number } | undefined;
  /** The bytes from an offset on; called once for each attempt. */
  open(fromByte: number): AsyncIterable<Uint8Array>;
}

export interface TranscriptReceipt {
  transcript: StoredTranscript;
  /** The target had the bytes already. */
  isDuplicate: boolean;
  /** The target's copy was lost or damaged, and these bytes replaced it. */
  isHealed: boolean;
  /** The beginning of the sent bytes (0, or the end of the delivery's base). */
  sentFromByte: number;
}

/** A file kept with a session's transcript, to be delivered. */
export interface AttachmentDelivery {
  agent: string;
  sessionId: string;
  /** Path in the session's folder, with `/` as separator. */
  path: string;
  modifiedAtMs: number;
  sizeBytes: number;
  /** SHA-256 (hex). */
  sha256: string;
  open(): AsyncIterable<Uint8Array>;
}

export interface AttachmentReceipt {
  attachmentId: string;
  /** `older`: the target has a later state of the file, and keeps that one. */
  outcome: 'stored' | 'duplicate' | 'older' | 'healed';
}

/**
 * The target of transcripts and attachments (an API, or raw store and database directly). Every method rejects with a
 * DeliveryError.
 */
export interface DeliveryTarget {
  /** The number of small transcripts that may be delivered together, in addition to those in progress. Default: none. */
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
  send(delivery: TranscriptDelivery, signal: AbortSignal | undefined): Promise<TranscriptReceipt>;
  /** The transcripts with these ids (at most `MAX_STATUS_IDS`), in any order; deleted ones are left out. */
  readStatuses(ids: readonly string[], signal: AbortSignal | undefined): Promise<StoredTranscript[]>;
  /** Sessions of the workspace that search does not find yet, except those whose indexing failed. */
  countUnindexed(signal: AbortSignal | undefined): Promise<number>;
  /** The target's attachments of a session: `<path>/<SHA-256>`. */
  listAttachments(sessionId: string, signal: AbortSignal | undefined): Promise<ReadonlySet<string>>;
  /** Stores an attachment durably. */
  sendAttachment(delivery: AttachmentDelivery, signal: AbortSignal | undefined): Promise<AttachmentReceipt>;
}

export const MAX_STATUS_IDS = 100;
