export { createRawStore } from './create-raw-store.ts';
export { createFolderRawStore, readDiskSpace } from './folder-raw-store.ts';
export { peekChunks } from './peek-chunks.ts';
export {
  attachmentObjectKey,
  parseAttachmentObjectKey,
  parseRawObjectKey,
  parseRedactedObjectKey,
  parseStreamObjectKey,
  parseWorkspaceRecordKey,
  type RawObjectKeyParts,
  rawObjectKey,
  redactedObjectKey,
  streamObjectKey,
  workspacePrefix,
  workspaceRecordKey,
} from './raw-object-key.ts';
export {
  type ByteRange,
  type ObjectDescription,
  type RawObjectInfo,
  type RawStore,
  RawStoreError,
  type RawStoreErrorCode,
  READINESS_OBJECT_KEY,
  type StoreSpace,
} from './raw-store.ts';
export type { S3ClientOptions, S3Credentials } from './s3-client.ts';
export type { S3RawStoreOptions } from './s3-raw-store.ts';
