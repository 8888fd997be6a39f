/** The raw object is not what was uploaded. A retry may help, but continuing would store wrong numbers. */
export class RawObjectMismatchError extends Error {
  override name = 'RawObjectMismatchError';
}
