/** A session file as it is to be received. */
export interface SessionDelivery {
  /** Where the agent has it; without the ending of a compression. */
  path: string;
  agent?: string | undefined;
  /** Size of the bytes as they lie in the file, which are compressed if there is an encoding. */
  sizeBytes: number;
  /** SHA-256 (hex) of the same. */
  sha256: string;
  encoding?: 'gzip' | 'zstd' | undefined;
  /** The transcript that the file is known to begin with. */
  base?: { transcriptId: string; sizeBytes: number } | undefined;
  /** The bytes from an offset on. */
  open(fromByte: number): AsyncIterable<Uint8Array>;
}

/** A file beside a session's transcript as it is to be received. */
export interface AttachmentDelivery {
  agent: string;
  sessionId: string;
  /** In the session's folder, with `/` between its parts. */
  path: string;
  modifiedAtMs: number;
  sizeBytes: number;
  /** SHA-256 (hex). */
  sha256: string;
  open(): AsyncIterable<Uint8Array>;
}

export interface AttachmentReceipt {
  attachmentId: string;
  /** Nothing was added. */
  isDuplicate: boolean;
}

export interface SessionReceipt {
  transcriptId: string;
  isDuplicate: boolean;
  /** Bytes of the body, before they were compressed for the way. */
  sentBytes: number;
}

/** Where session files go. */
export interface SessionTarget {
  /** Resolves once the transcript is stored for good. Rejects with a DeliveryError. */
  send(delivery: SessionDelivery, signal: AbortSignal | undefined): Promise<SessionReceipt>;
  /** Resolves once the attachment is stored for good. Rejects with a DeliveryError. */
  sendAttachment(delivery: AttachmentDelivery, signal: AbortSignal | undefined): Promise<AttachmentReceipt>;
}

/**
 * - `rejected`: this file cannot be taken
 * - `unavailable`: may succeed later, as when the network is away
 * - `denied`: nothing will be taken, as with a key that was revoked
 */
export type DeliveryErrorCode = 'rejected' | 'unavailable' | 'denied';

export class DeliveryError extends Error {
  override name = 'DeliveryError';
  readonly code: DeliveryErrorCode;

  constructor(code: DeliveryErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
