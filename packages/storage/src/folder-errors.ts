import { RawStoreError, type RawStoreErrorCode } from './raw-store.ts';

const CODES: Readonly<Record<string, RawStoreErrorCode>> = {
  EACCES: 'denied',
  EPERM: 'denied',
  EROFS: 'denied',
  ENOSPC: 'out-of-space',
  EDQUOT: 'out-of-space',
  EFBIG: 'out-of-space',
  ENOENT: 'store-missing',
  EEXIST: 'store-missing',
  ENOTDIR: 'store-missing',
};

const systemCodeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Whether nothing is at the path: no entry, or a file where a folder would have to be. */
export const isAbsent = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(systemCodeOf(error));

/** Total: what is not known to be something else is `unavailable`. A RawStoreError stays as it is. */
export function toFolderError(error: unknown, subject: string): RawStoreError {
  if (error instanceof RawStoreError) return error;
  const systemCode = systemCodeOf(error);
  const code = CODES[systemCode] ?? 'unavailable';
  return new RawStoreError(code, `Raw store folder: ${systemCode || 'failed'} at ${subject}`, { cause: error });
}
