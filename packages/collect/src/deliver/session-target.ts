/** A session file to be delivered. */
export interface SessionDelivery {
  /** Its path at the agent, without a compression extension. */
  path: string;
  agent?: string | undefined;
  /** Size of the bytes in the file, which are compressed if there is an encoding. */
  sizeBytes: number;
  /** SHA-256 (hex) of these bytes. */
  sha256: string;
  encoding?: 'gzip' | 'zstd' | undefined;
  /** The stored transcript that the file begins with. */
  base?: { transcriptId: string; sizeBytes: number } | undefined;
  /** The bytes from an offset on. */
  open(fromByte: number): AsyncIterable<Uint8Array>;
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
  /** Nothing was added. */
  isDuplicate: boolean;
}

export interface SessionReceipt {
  transcriptId: string;
  isDuplicate: boolean;
  /** Bytes of the body before transport compression. */
  sentBytes: number;
}

/** The target of session files. */
export interface SessionTarget {
  /** Resolves once the transcript is stored durably. Rejects with a DeliveryError. */
  send(delivery: SessionDelivery, signal: AbortSignal | undefined): Promise<SessionReceipt>;
  /** Resolves once the attachment is stored durably. Rejects with a DeliveryError. */
  sendAttachment(delivery: AttachmentDelivery, signal: AbortSignal | undefined): Promise<AttachmentReceipt>;
}

/**
 * - `rejected` means this file will not be accepted
 * - `unavailable` means may succeed later, e.g. after a network failure
 * - `denied` means nothing will be accepted, e.g. because the key was revoked
 */
export type DeliveryErrorCode = 'rejected' | 'unavailable' | 'denied';

export class DeliveryError extends Error {
  override name = 'DeliveryError';
  readonly code: DeliveryErrorCode;
  /** The target has as much to do as it takes, and asks to wait this long. */
  readonly busyMs: number | undefined;

  constructor(code: DeliveryErrorCode, message: string, options: ErrorOptions & { busyMs?: number | undefined } = {}) {
    super(message, options);
    this.code = code;
    this.busyMs = options.busyMs;
  }
}
