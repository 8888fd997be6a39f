/**
 * Lines after a checkpoint change something before it that the checkpoint no longer holds, or the checkpoint was made
 * with other options. The transcript must be parsed from its beginning.
 */
export class ResumeError extends Error {
  override name = 'ResumeError';
}
