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
const WORKSPACE_ID_PATTERN = new RegExp(`^${WORKSPACE_ID}$`);
const ULID_PATTERN = new RegExp(`^${ULID}$`);
const KEY_PATTERN = new RegExp(`^workspaces/(${WORKSPACE_ID})/transcripts/(${ULID})\\.jsonl$`);
const RECORD_KEY_PATTERN = new RegExp(`^workspaces/(${WORKSPACE_ID})/workspace\\.json$`);
const STREAM_KEY_PATTERN = new RegExp(`^workspaces/(${WORKSPACE_ID})/streams/(${ULID})\\.jsonl$`);
const ATTACHMENT_KEY_PATTERN = new RegExp(`^workspaces/(${WORKSPACE_ID})/attachments/(${ULID})$`);
const REDACTED_KEY_PATTERN = new RegExp(`^workspaces/(${WORKSPACE_ID})/redacted/(${ULID})/${ULID}\\.jsonl$`);

export interface RawObjectKeyParts {
  /** 1 to 64 of A-Z, a-z, 0-9, `_` and `-`, not starting with `_` or `-`. */
  workspaceId: string;
  /** A ULID in its canonical upper-case form. */
  transcriptId: string;
}

/** The key of a transcript's raw object. Throws RawStoreError `invalid-key` for malformed identifiers. */
export function rawObjectKey({ workspaceId, transcriptId }: RawObjectKeyParts): string {
  if (!ULID_PATTERN.test(transcriptId)) throw new RawStoreError('invalid-key', 'The transcript id is not a ULID');
  return `${workspacePrefix(workspaceId)}transcripts/${transcriptId}.jsonl`;
}

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

/** The workspace whose record has this key; undefined for a key that `workspaceRecordKey` did not build. */
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
