export { createRawStore } from './create-raw-store.ts';
export { createFolderRawStore, readDiskSpace } from './folder-raw-store.ts';
export { peekChunks } from './peek-chunks.ts';
export {
  annotationRecordKey,
  attachmentObjectKey,
  billRecordKey,
  crossingRecordKey,
  parseAttachmentObjectKey,
  parseRawObjectKey,
  parseRedactedObjectKey,
  parseStreamObjectKey,
  parseTelemetryDay,
  parseWorkspaceRecordKey,
  peopleRecordKey,
  type RawObjectKeyParts,
  rawObjectKey,
  redactedObjectKey,
  streamObjectKey,
  telemetryPrefix,
  telemetryRecordKey,
  workspacePrefix,
  workspaceRecordKey,
} from './raw-object-key.ts';
export {
  type ObjectDescription,
  type RawObjectInfo,
  type RawStore,
  RawStoreError,
  type RawStoreErrorCode,
  READINESS_OBJECT_KEY,
  type StoreSpace,
} from './raw-store.ts';
