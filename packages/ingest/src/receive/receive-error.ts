export type ReceiveErrorCode = 'too-large' | 'unidentified' | 'unsupported-format' | 'invalid-session-id';

/** The upload cannot be accepted as it is; sending it again will not help. Nothing of it was kept. */
export class ReceiveError extends Error {
  override name = 'ReceiveError';
  readonly code: ReceiveErrorCode;

  constructor(code: ReceiveErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
