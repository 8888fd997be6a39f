/**
 * - `too-many-streams`: the workspace has as many open as it may
 * - `wrong-session`: the stream belongs to another session
 * - `offset-mismatch`: bytes are missing between those stored and those sent
 * - `different-bytes`: what was sent is not what is stored at its place
 * - `closed`: the stream has ended
 * - `taken-over`: another request appends to the stream now, or has ended it
 * - `too-large`: the stream has as many bytes as it may
 */
export type LiveErrorCode =
  | 'too-many-streams'
  | 'wrong-session'
  | 'offset-mismatch'
  | 'different-bytes'
  | 'closed'
  | 'taken-over'
  | 'too-large';

/** A request cannot append to a stream. */
export class LiveError extends Error {
  override name = 'LiveError';
  readonly code: LiveErrorCode;
  /** Where the stored bytes end, where that is known. */
  readonly storedBytes: number | undefined;

  constructor(code: LiveErrorCode, message: string, storedBytes?: number) {
    super(message);
    this.code = code;
    this.storedBytes = storedBytes;
  }
}
