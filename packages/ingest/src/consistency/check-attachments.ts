import { type AttachmentRow, findAttachmentByObject, hasWorkspace, listAllAttachments } from '@recount/db';
import { type RawObjectInfo, RawStoreError } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { examineRawObject, hashRawObject, type RawObjectState } from '../raw-objects/examine-raw-object.ts';
import { parseAttachmentDescription, recordAttachment } from '../receive/receive-attachment.ts';
import type { DoctorCounts } from './check-raw-objects.ts';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

export type AttachmentFinding =
  /**
   * The row's object is lost, has another size, or other bytes than were stored. Uploading the same file again heals
   * it.
   */
  | {
      kind: 'damaged-attachment';
      state: Exclude<RawObjectState, 'whole'>;
      workspaceId: string;
      attachmentId: string;
      objectKey: string;
      fixed: false;
    }
  /**
   * An attachment object that no row names, from an upload that was never acknowledged, or newer than a restored
   * database.
   */
  | { kind: 'orphan-attachment'; objectKey: string; sizeBytes: number; fixed: boolean };

interface Options {
  /** Undefined means all workspaces. */
  workspaceId: string | undefined;
  checksums: boolean;
  counts: DoctorCounts;
  onRead: (sizeBytes: number) => void;
  signal?: AbortSignal | undefined;
}

/** Checks the object of every attachment. */
export async function* checkAttachments(deps: Deps, options: Options): AsyncGenerator<AttachmentFinding> {
  for await (const page of listAllAttachments(deps.database.database, options.workspaceId)) {
    for (const row of page) {
      options.signal?.throwIfAborted();
      options.counts.attachments += 1;
      const state = await examine(deps, row, options);
      if (state === 'whole') continue;
      // Replaced or deleted since it was listed.
      if ((await findAttachmentByObject(deps.database.database, row.workspace_id, row.object_key)) === undefined)
        continue;
      const { workspace_id: workspaceId, id: attachmentId, object_key: objectKey } = row;
      yield { kind: 'damaged-attachment', state, workspaceId, attachmentId, objectKey, fixed: false };
    }
  }
}

async function examine({ rawStore }: Deps, row: AttachmentRow, options: Options): Promise<RawObjectState> {
  const { checksums, counts, onRead, signal } = options;
  if (!checksums) {
    const object = await rawStore.stat(row.object_key);
    if (object === undefined) return 'missing';
    return object.sizeBytes === row.size_bytes ? 'whole' : 'wrong-size';
  }
  const state = await examineRawObject(rawStore, row, { signal });
  if (state === 'whole' || state === 'wrong-content') {
    counts.checksums += 1;
    counts.checksumBytes += row.size_bytes;
    onRead(row.size_bytes);
  }
  return state;
}

/**
 * - `registered` means that the object has its row
 * - `there` means that it was not needed and has been deleted
 * - `damaged` means that it has no usable description, or its bytes are not those that were stored
 */
type AttachmentRegistration = 'registered' | 'there' | 'damaged';

/**
 * Creates the row for an attachment's object from its description. May be repeated, even while its own upload is in
 * progress.
 */
async function registerAttachment(deps: Deps, workspaceId: string, objectKey: string): Promise<AttachmentRegistration> {
  const described = parseAttachmentDescription(await deps.rawStore.readDescription(objectKey));
  if (described === undefined) return 'damaged';
  const row: AttachmentRow = { ...described, workspace_id: workspaceId, object_key: objectKey };
  if ((await hashRawObject(deps.rawStore, objectKey)) !== (row.stored_sha256 ?? row.sha256)) return 'damaged';
  const { attachment } = await recordAttachment(deps, row);
  return attachment.object_key === objectKey ? 'registered' : 'there';
}

/** With `fix`, an orphan gets its row, or is deleted if its session has the attachment already. */
export async function* checkAttachmentObject(
  deps: Deps,
  { workspaceId, key: objectKey, sizeBytes }: RawObjectInfo & { workspaceId: string },
  fix: boolean,
): AsyncGenerator<AttachmentFinding> {
  const finding = { kind: 'orphan-attachment', objectKey, sizeBytes } as const;
  try {
    const isFixable = fix && (await hasWorkspace(deps.database.database, workspaceId));
    const fixed = isFixable && (await registerAttachment(deps, workspaceId, objectKey)) !== 'damaged';
    yield { ...finding, fixed };
  } catch (error) {
    if (!(error instanceof RawStoreError)) throw error;
    // Deleted since then.
    if (error.code !== 'not-found') yield { ...finding, fixed: false };
  }
}
