import { fileURLToPath } from 'node:url';
import { createFolderRawStore } from './folder-raw-store.ts';
import { type RawStore, RawStoreError } from './raw-store.ts';
import type { S3RawStoreOptions } from './s3-raw-store.ts';

const S3_LOCATION = /^s3:\/\/([A-Za-z0-9][A-Za-z0-9._-]+)(?:\/(.*?))?\/?$/;
const URL_SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//;

/**
 * The store at `s3://bucket`, `s3://bucket/prefix`, a `file://` URL or a folder's path.
 * Rejects with RawStoreError `invalid-location`, and `invalid-key` for an unsafe prefix.
 */
export async function createRawStore(
  location: string,
  s3Options: Omit<S3RawStoreOptions, 'bucket' | 'prefix'> = {},
): Promise<RawStore> {
  if (location.startsWith('s3://')) {
    const [, bucket, prefix] = S3_LOCATION.exec(location) ?? [];
    if (bucket === undefined) throw new RawStoreError('invalid-location', 'Expected s3://bucket or s3://bucket/prefix');
    // Loaded on demand, because the SDK takes 5 MB of memory and some time to load.
    const { createS3RawStore } = await import('./s3-raw-store.ts');
    return createS3RawStore({ ...s3Options, bucket, prefix });
  }
  return createFolderRawStore({ directory: toDirectory(location) });
}

function toDirectory(location: string): string {
  if (location === '') throw new RawStoreError('invalid-location', 'The location of the raw store is empty');
  if (!URL_SCHEME.test(location)) return location;
  try {
    return fileURLToPath(location);
  } catch (cause) {
    throw new RawStoreError('invalid-location', 'Expected s3://, file:/// or the path of a folder', { cause });
  }
}
