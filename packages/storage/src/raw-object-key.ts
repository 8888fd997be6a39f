import { RawStoreError } from './raw-store.ts';

/** Half of what S3 allows, leaving room for a bucket prefix. */
const MAX_KEY_BYTES = 512;
const SEGMENT = '[A-Za-z0-9][A-Za-z0-9._-]{0,127}';
const SEGMENT_PATTERN = new RegExp(`^${SEGMENT}$`);
const OBJECT_KEY_PATTERN = new RegExp(`^${SEGMENT}(?:/${SEGMENT})*$`);
const KEY_PREFIX_PATTERN = new RegExp(`^(?:${SEGMENT}/)*(?:${SEGMENT})?$`);

/** Segments never start with a dot, which excludes `..`, hidden files and the folder store's own files. */
export const isKeySegment = (name: string): boolean => SEGMENT_PATTERN.test(name);

export const isObjectKey = (key: string): boolean => key.length <= MAX_KEY_BYTES && OBJECT_KEY_PATTERN.test(key);

/** Throws RawStoreError `invalid-key`. Does not quote the key, which may be anything. */
export function assertObjectKey(key: string): void {
  if (!isObjectKey(key)) throw new RawStoreError('invalid-key', 'The object key is not made of safe path segments');
}

/** Like `assertObjectKey`, for a key's beginning, which may be empty, or end in a slash or within a segment. */
export function assertKeyPrefix(prefix: string): void {
  if (prefix.length > MAX_KEY_BYTES || !KEY_PREFIX_PATTERN.test(prefix)) {
    throw new RawStoreError('invalid-key', 'The key prefix is not made of safe path segments');
  }
}

const WORKSPACE_ID = '[A-Za-z0-9][A-Za-z0-9_-]{0,63}';
const ULID = '[0-7][0-9A-HJKMNP-TV-Z]{25}';
const DAY = '\\d{4}-\\d\\d-\\d\\d';
const DAY_PATTERN = new RegExp(`^${DAY}$`);
const TELEMETRY_KEY_PATTERN = new RegExp(`/telemetry/(${DAY})\\.ndjson$`);
const WORKSPACE_ID_PATTERN = new RegExp(`^${WORKSPACE_ID}$`);
const ULID_PATTERN = new RegExp(`^${ULID}$`);
const KEY_PATTERN = new RegExp(`^workspaces/(${WORKSPACE_ID})/transcripts/(${ULID})(?:-(${ULID}))?\\.jsonl$`);
const SHARED_DESCRIPTION_PATTERN = new RegExp(`^workspaces/${WORKSPACE_ID}/descriptions/${ULID}\\.jsonl$`);
const RECORD_KEY_PATTERN = new RegExp(
  `^workspaces/(${WORKSPACE_ID})/(?:workspace\\.json|(?:session-annotations|budget-crossings|people|bills|telemetry/${DAY})\\.ndjson)$`,
);
const STREAM_KEY_PATTERN = new RegExp(`^workspaces/(${WORKSPACE_ID})/streams/(${ULID})\\.jsonl$`);
const ATTACHMENT_KEY_PATTERN = new RegExp(`^workspaces/(${WORKSPACE_ID})/attachments/(${ULID})$`);
const REDACTED_KEY_PATTERN = new RegExp(`^workspaces/(${WORKSPACE_ID})/redacted/(${ULID})/${ULID}\\.jsonl$`);

export interface RawObjectKeyParts {
  /** 1 to 64 of A-Z, a-z, 0-9, `_` and `-`, not starting with `_` or `-`. */
  workspaceId: string;
  /** A ULID in its canonical upper-case form. */
  transcriptId: string;
}

/**
 * The key of a transcript's raw object. With a batch, a ULID, its description may be stored with the others of the
 * batch. Throws RawStoreError `invalid-key` for malformed identifiers.
 */
export function rawObjectKey({
  workspaceId,
  transcriptId,
  batchId,
}: RawObjectKeyParts & { batchId?: string | undefined }): string {
  if (![transcriptId, batchId ?? transcriptId].every((id) => ULID_PATTERN.test(id))) {
    throw new RawStoreError('invalid-key', 'The id of the transcript or the batch is not a ULID');
  }
  const batch = batchId === undefined ? '' : `-${batchId}`;
  return `${workspacePrefix(workspaceId)}transcripts/${transcriptId}${batch}.jsonl`;
}

/** The key of the descriptions that an object's batch shares; undefined if the key names no batch. */
export function sharedDescriptionKey(key: string): string | undefined {
  const [, workspaceId, , batchId] = KEY_PATTERN.exec(key) ?? [];
  if (workspaceId === undefined || batchId === undefined) return undefined;
  return `${workspacePrefix(workspaceId)}descriptions/${batchId}.jsonl`;
}

export const isSharedDescriptionKey = (key: string): boolean => SHARED_DESCRIPTION_PATTERN.test(key);

/** The key of a live stream, stored as received; it is not a transcript. Throws RawStoreError `invalid-key`. */
export function streamObjectKey({ workspaceId, streamId }: { workspaceId: string; streamId: string }): string {
  if (!ULID_PATTERN.test(streamId)) throw new RawStoreError('invalid-key', 'The stream id is not a ULID');
  return `${workspacePrefix(workspaceId)}streams/${streamId}.jsonl`;
}

/** The key of an attachment's raw object. Throws RawStoreError `invalid-key`. */
export function attachmentObjectKey({ workspaceId, objectId }: { workspaceId: string; objectId: string }): string {
  if (!ULID_PATTERN.test(objectId)) throw new RawStoreError('invalid-key', 'The id of the object is not a ULID');
  return `${workspacePrefix(workspaceId)}attachments/${objectId}`;
}

/**
 * The key of a redacted copy that replaces a transcript's raw object. Throws RawStoreError `invalid-key`. Every call
 * gives a different key. Until the row names the copy, the previous object must stay unchanged.
 */
export function redactedObjectKey({
  workspaceId,
  transcriptId,
  copyId,
}: RawObjectKeyParts & { copyId: string }): string {
  if (![transcriptId, copyId].every((id) => ULID_PATTERN.test(id))) {
    throw new RawStoreError('invalid-key', 'The id of the transcript or the copy is not a ULID');
  }
  return `${workspacePrefix(workspaceId)}redacted/${transcriptId}/${copyId}.jsonl`;
}

/** The key of a workspace's record, which has its name and settings. Throws RawStoreError `invalid-key`. */
export function workspaceRecordKey(workspaceId: string): string {
  return `${workspacePrefix(workspaceId)}workspace.json`;
}

/** The key of a workspace's annotations of sessions. Throws RawStoreError `invalid-key`. */
export function annotationRecordKey(workspaceId: string): string {
  return `${workspacePrefix(workspaceId)}session-annotations.ndjson`;
}

/** The key of what a workspace's budgets have warned of. Throws RawStoreError `invalid-key`. */
export function crossingRecordKey(workspaceId: string): string {
  return `${workspacePrefix(workspaceId)}budget-crossings.ndjson`;
}

/** The key of a workspace's people and teams. Throws RawStoreError `invalid-key`. */
export function peopleRecordKey(workspaceId: string): string {
  return `${workspacePrefix(workspaceId)}people.ndjson`;
}

/** The key of a workspace's imported bills. Throws RawStoreError `invalid-key`. */
export function billRecordKey(workspaceId: string): string {
  return `${workspacePrefix(workspaceId)}bills.ndjson`;
}

/** The key of the telemetry that a workspace received on a day in UTC, `2026-11-29`. Throws RawStoreError `invalid-key`. */
export function telemetryRecordKey(workspaceId: string, day: string): string {
  if (!DAY_PATTERN.test(day)) throw new RawStoreError('invalid-key', 'The day is not a date');
  return `${telemetryPrefix(workspaceId)}${day}.ndjson`;
}

/** The prefix of a workspace's keys of telemetry. Throws RawStoreError `invalid-key`. */
export function telemetryPrefix(workspaceId: string): string {
  return `${workspacePrefix(workspaceId)}telemetry/`;
}

/** The day of a key that `telemetryRecordKey` built; undefined for another one. */
export function parseTelemetryDay(key: string): string | undefined {
  return TELEMETRY_KEY_PATTERN.exec(key)?.[1];
}

/** The prefix of a workspace's keys, and of no other's. Throws RawStoreError `invalid-key`. */
export function workspacePrefix(workspaceId: string): string {
  if (!WORKSPACE_ID_PATTERN.test(workspaceId)) throw new RawStoreError('invalid-key', 'The workspace id is not safe');
  return `workspaces/${workspaceId}/`;
}

/** The inverse of `rawObjectKey`; undefined for a key that it did not build. */
export function parseRawObjectKey(key: string): RawObjectKeyParts | undefined {
  const [, workspaceId, transcriptId] = KEY_PATTERN.exec(key) ?? [];
  return workspaceId !== undefined && transcriptId !== undefined ? { workspaceId, transcriptId } : undefined;
}

/**
 * The workspace whose record, annotations, crossings, people, bills or telemetry have this key; undefined for a key that
 * none of the functions `…RecordKey` built.
 */
export function parseWorkspaceRecordKey(key: string): string | undefined {
  return RECORD_KEY_PATTERN.exec(key)?.[1];
}

/** The inverse of `streamObjectKey`; undefined for a key that it did not build. */
export function parseStreamObjectKey(key: string): { workspaceId: string; streamId: string } | undefined {
  const [, workspaceId, streamId] = STREAM_KEY_PATTERN.exec(key) ?? [];
  return workspaceId !== undefined && streamId !== undefined ? { workspaceId, streamId } : undefined;
}

/** The transcript whose redacted copy has this key; undefined for a key that `redactedObjectKey` did not build. */
export function parseRedactedObjectKey(key: string): RawObjectKeyParts | undefined {
  const [, workspaceId, transcriptId] = REDACTED_KEY_PATTERN.exec(key) ?? [];
  return workspaceId !== undefined && transcriptId !== undefined ? { workspaceId, transcriptId } : undefined;
}

/** The inverse of `attachmentObjectKey`; undefined for a key that it did not build. */
export function parseAttachmentObjectKey(key: string): { workspaceId: string; objectId: string } | undefined {
  const [, workspaceId, objectId] = ATTACHMENT_KEY_PATTERN.exec(key) ?? [];
  return workspaceId !== undefined && objectId !== undefined ? { workspaceId, objectId } : undefined;
}
