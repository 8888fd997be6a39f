/**
 * - `rejected`: this item will not be accepted
 * - `unavailable`: may succeed later, e.g. after a lost connection or too many requests
 * - `denied`: nothing will be accepted, e.g. because the API key was revoked
 * - `mismatch`: the target has other bytes, or another number of them, than the item continues
 * - `closed`: the target has ended the stream, e.g. after a long silence
 */
export type DeliveryErrorCode = 'rejected' | 'unavailable' | 'denied' | 'mismatch' | 'closed';

interface DeliveryErrorOptions extends ErrorOptions {
  /** The time that the target asks to wait. */
  retryAfterMs?: number | undefined;
  /** Nothing is wrong: the target has as much to do as it takes. */
  isBusy?: boolean;
  /** The number of bytes that the target has of a stream. */
  storedBytes?: number | undefined;
}

/** A target did not do what it was asked to. The message is for people, and quotes no transcript. */
export class DeliveryError extends Error {
  override name = 'DeliveryError';
  readonly code: DeliveryErrorCode;
  readonly retryAfterMs: number | undefined;
  readonly isBusy: boolean;
  readonly storedBytes: number | undefined;

  constructor(
    code: DeliveryErrorCode,
    message: string,
    { retryAfterMs, isBusy = false, storedBytes, ...options }: DeliveryErrorOptions = {},
  ) {
    super(message, options);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.isBusy = isBusy;
    this.storedBytes = storedBytes;
  }
}
