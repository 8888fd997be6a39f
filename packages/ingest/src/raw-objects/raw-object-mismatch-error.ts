/** The raw object is not what was uploaded: a retry may help, but continuing would store wrong numbers. */
export class RawObjectMismatchError extends Error {
  override name = 'RawObjectMismatchError';
}
