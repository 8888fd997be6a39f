/** A message was not accepted. The message of the error has no secret and no text of the receiver. */
export class AlertDeliveryError extends Error {
  override name = 'AlertDeliveryError';
  /** True if no further attempt can help. */
  readonly isFinal: boolean;
  /** The pause that the receiver asks for. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    message: string,
    { isFinal = false, retryAfterSeconds }: { isFinal?: boolean; retryAfterSeconds?: number | undefined } = {},
  ) {
    super(message);
    this.isFinal = isFinal;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
