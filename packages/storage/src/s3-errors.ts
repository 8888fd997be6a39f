import { RawStoreError, type RawStoreErrorCode } from './raw-store.ts';

/** S3's error codes, and those that MinIO and Ceph add. HEAD answers have no body, hence `NotFound`. */
const CODES_BY_NAME: Readonly<Record<string, RawStoreErrorCode>> = {
  NoSuchKey: 'not-found',
  NotFound: 'not-found',
  NoSuchBucket: 'store-missing',
  PermanentRedirect: 'store-missing',
  InvalidRange: 'invalid-range',
  CredentialsProviderError: 'denied',
  ExpiredToken: 'denied',
  InvalidToken: 'denied',
  QuotaExceeded: 'out-of-space',
  XMinioStorageFull: 'out-of-space',
};

const CODES_BY_STATUS: Readonly<Record<number, RawStoreErrorCode>> = {
  401: 'denied',
  403: 'denied',
  416: 'invalid-range',
  507: 'out-of-space',
};

export const isS3Error = (error: unknown, name: string): boolean => error instanceof Error && error.name === name;

/** Unknown errors become `unavailable`. A RawStoreError stays as it is. */
export function toS3Error(error: unknown, subject: string): RawStoreError {
  if (error instanceof RawStoreError) return error;
  const name = error instanceof Error ? error.name : 'failed';
  const status = httpStatusOf(error);
  const code = CODES_BY_NAME[name] ?? (status === undefined ? undefined : CODES_BY_STATUS[status]) ?? 'unavailable';
  const detail = status === undefined ? name : `${name}, HTTP ${status}`;
  return new RawStoreError(code, `S3: ${detail} at ${subject}`, { cause: error });
}

function httpStatusOf(error: unknown): number | undefined {
  if (!(error instanceof Error && '$metadata' in error)) return undefined;
  const metadata = error.$metadata;
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return undefined;
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : undefined;
}

/** Rethrows the signal's reason after an abort, and anything else as a RawStoreError. */
export async function withS3Errors<T>(
  subject: string,
  signal: AbortSignal | undefined,
  operation: () => Promise<T>,
): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    signal?.throwIfAborted();
    throw toS3Error(error, subject);
  }
}
