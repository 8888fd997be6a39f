import { RawStoreError } from './raw-store.ts';

const WORKSPACE_ID = '[A-Za-z0-9][A-Za-z0-9_-]{0,63}';
const ULID = '[0-7][0-9A-HJKMNP-TV-Z]{25}';
const WORKSPACE_ID_PATTERN = new RegExp(`^${WORKSPACE_ID}$`);
const ULID_PATTERN = new RegExp(`^${ULID}$`);
const KEY_PATTERN = new RegExp(`^workspaces/(${WORKSPACE_ID})/transcripts/(${ULID})\\.jsonl$`);

export interface RawObjectKeyParts {
  /** 1 to 64 of A-Z, a-z, 0-9, `_` and `-`, not starting with `_` or `-`. */
  workspaceId: string;
  /** A ULID in its canonical upper-case form. */
  transcriptId: string;
}

/** The key of a transcript's raw object. Throws RawStoreError `invalid-key` for an identifier of another form. */
export function rawObjectKey({ workspaceId, transcriptId }: RawObjectKeyParts): string {
  if (!ULID_PATTERN.test(transcriptId)) throw new RawStoreError('invalid-key', 'The transcript id is not a ULID');
  return `${workspacePrefix(workspaceId)}transcripts/${transcriptId}.jsonl`;
}

/** What the keys of a workspace, and of no other, start with. Throws RawStoreError `invalid-key`. */
export function workspacePrefix(workspaceId: string): string {
  if (!WORKSPACE_ID_PATTERN.test(workspaceId)) throw new RawStoreError('invalid-key', 'The workspace id is not safe');
  return `workspaces/${workspaceId}/`;
}

/** The inverse of `rawObjectKey`; undefined for a key that it did not build. */
export function parseRawObjectKey(key: string): RawObjectKeyParts | undefined {
  const [, workspaceId, transcriptId] = KEY_PATTERN.exec(key) ?? [];
  return workspaceId !== undefined && transcriptId !== undefined ? { workspaceId, transcriptId } : undefined;
}
