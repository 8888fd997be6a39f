/**
 * Why a source could not be read:
 * - `not-found`, `permission-denied`, `read-failed` means the file system or S3 said so (`read-failed` is every other
 *   I/O fault)
 * - `invalid-location` means a path that names nothing readable, such as `s3://` without a bucket
 * - `changed` means replaced by something else between listing and reading
 * - `truncated` means ends before its format says it should
 * - `corrupt` means contradicts its format or its checksums
 * - `encrypted`, `unsupported` means intact, but not readable here
 * - `unknown-layout` means an agent's database with something in it that this version does not know; the rest is read
 * - `limit-exceeded` means larger, or more strongly compressed, than `SourceLimits` allows
 * - `closed` means opened a second time, or after the reader moved on, although not `reopenable`
 */
export type SourceErrorCode =
  | 'not-found'
  | 'permission-denied'
  | 'invalid-location'
  | 'read-failed'
  | 'changed'
  | 'truncated'
  | 'corrupt'
  | 'encrypted'
  | 'unsupported'
  | 'unknown-layout'
  | 'limit-exceeded'
  | 'closed';

const RETRYABLE: ReadonlySet<SourceErrorCode> = new Set(['read-failed', 'changed']);

/** The only error class of this package. Its message holds neither the source's location nor its content. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  readonly code: SourceErrorCode;

  constructor(code: SourceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** True if reading the same source again may succeed. */
  get retryable(): boolean {
    return RETRYABLE.has(this.code);
  }
}

const SYSTEM_ERRORS: Readonly<Record<string, [SourceErrorCode, string]>> = {
  ENOENT: ['not-found', 'no such file or folder'],
  ENOTDIR: ['not-found', 'no such file or folder'],
  EACCES: ['permission-denied', 'no permission to read'],
  EPERM: ['permission-denied', 'no permission to read'],
  ELOOP: ['changed', 'became a symbolic link while it was being read'],
  ENAMETOOLONG: ['invalid-location', 'the path is too long'],
  ERR_INVALID_ARG_VALUE: ['invalid-location', 'the path holds a NUL character'],
};

const S3_STATUSES: Readonly<Record<number, [SourceErrorCode, string]>> = {
  401: ['permission-denied', 'S3 refused access'],
  403: ['permission-denied', 'S3 refused access'],
  404: ['not-found', 'no such bucket or object'],
  412: ['changed', 'the object was replaced while it was being read'],
};

/** Turns an error of the file system or S3 into a `SourceError`; a `SourceError` or an `AbortError` stays as it is. */
export function toSourceError(error: unknown): Error {
  if (error instanceof SourceError) return error;
  if (!(error instanceof Error)) return new SourceError('read-failed', 'reading failed');
  if (error.name === 'AbortError') return error;
  const { code, $metadata } = error as { code?: unknown; $metadata?: { httpStatusCode?: number } };
  const known =
    (typeof code === 'string' ? SYSTEM_ERRORS[code] : undefined) ?? S3_STATUSES[$metadata?.httpStatusCode ?? 0];
  if (known) return new SourceError(known[0], known[1], { cause: error });
  return new SourceError('read-failed', `reading failed (${typeof code === 'string' ? code : error.name})`, {
    cause: error,
  });
}
