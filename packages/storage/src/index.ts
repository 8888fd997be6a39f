export { createRawStore } from './create-raw-store.ts';
export { createFolderRawStore } from './folder-raw-store.ts';
export {
  parseRawObjectKey,
  parseRedactedObjectKey,
  parseStreamObjectKey,
  type RawObjectKeyParts,
  rawObjectKey,
  redactedObjectKey,
  streamObjectKey,
  workspacePrefix,
} from './raw-object-key.ts';
export {
  type ByteRange,
  type RawObjectInfo,
  type RawStore,
  RawStoreError,
  type RawStoreErrorCode,
} from './raw-store.ts';
export type { S3ClientOptions, S3Credentials } from './s3-client.ts';
export type { S3RawStoreOptions } from './s3-raw-store.ts';
