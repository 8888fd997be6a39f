import { RawStoreError } from './raw-store.ts';

/** Half of what S3 allows, so that a bucket prefix fits in front. */
const MAX_KEY_BYTES = 512;
const SEGMENT = '[A-Za-z0-9][A-Za-z0-9._-]{0,127}';
const SEGMENT_PATTERN = new RegExp(`^${SEGMENT}$`);
const KEY_PATTERN = new RegExp(`^${SEGMENT}(?:/${SEGMENT})*$`);
const KEY_PREFIX_PATTERN = new RegExp(`^(?:${SEGMENT}/)*(?:${SEGMENT})?$`);

/** A segment never starts with a dot, so `..`, hidden files and the folder store's own files are out of reach. */
export const isKeySegment = (name: string): boolean => SEGMENT_PATTERN.test(name);

export const isObjectKey = (key: string): boolean => key.length <= MAX_KEY_BYTES && KEY_PATTERN.test(key);

/** Throws RawStoreError `invalid-key`. The key is not quoted: it may be anything at all. */
export function assertObjectKey(key: string): void {
  if (!isObjectKey(key)) throw new RawStoreError('invalid-key', 'The object key is not made of safe path segments');
}

/** As `assertObjectKey`, for the beginning of a key: it may be empty, or end in a slash or within a segment. */
export function assertKeyPrefix(prefix: string): void {
  if (prefix.length > MAX_KEY_BYTES || !KEY_PREFIX_PATTERN.test(prefix)) {
    throw new RawStoreError('invalid-key', 'The key prefix is not made of safe path segments');
  }
}
