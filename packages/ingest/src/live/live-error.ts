/**
 * - `too-many-streams` means that the workspace or the key has reached its limit of open streams
 * - `wrong-session` means that the stream belongs to another session
 * - `offset-mismatch` means that bytes are missing between those stored and those sent
 * - `different-bytes` means that the bytes sent differ from those stored at the same offset
 * - `closed` means that the stream has ended
 * - `taken-over` means that another request appends to the stream now, or has ended it
 * - `too-large` means that the stream has reached its size limit
 * - `no-memory` means that all streams of the process together hold as much as they may
 */
export type LiveErrorCode =
  | 'too-many-streams'
  | 'wrong-session'
  | 'offset-mismatch'
  | 'different-bytes'
  | 'closed'
  | 'taken-over'
  | 'too-large'
  | 'no-memory';

/** A request cannot append to a stream. */
export class LiveError extends Error {
  override name = 'LiveError';
  readonly code: LiveErrorCode;
  /** Number of stored bytes, if known. */
  readonly storedBytes: number | undefined;

  constructor(code: LiveErrorCode, message: string, storedBytes?: number) {
    super(message);
    this.code = code;
    this.storedBytes = storedBytes;
  }
}
