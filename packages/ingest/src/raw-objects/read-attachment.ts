import { type AttachmentRow, readWorkspaceSettings } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { createRedaction } from '../secrets/redaction.ts';

/** For lines that are searched for secrets as a whole. */
const MAX_LINE_BYTES = 1024 * 1024;

/**
 * The first `maxBytes` of an attachment. With `redact`, secrets are replaced by the same number of bytes, if the
 * workspace redacts what it shows. Rejects with a RawStoreError before any bytes if the object does not exist.
 */
export async function readAttachment(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  { workspace_id, object_key }: Pick<AttachmentRow, 'workspace_id' | 'object_key'>,
  { redact, maxBytes }: { redact: boolean; maxBytes: number },
): Promise<AsyncIterable<Uint8Array>> {
  const settings = redact ? await readWorkspaceSettings(deps.database.database, workspace_id) : undefined;
  const redaction = await createRedaction(settings?.redaction ?? 'off', {
    maxLineBytes: MAX_LINE_BYTES,
    earlier: { counts: {}, issues: [] },
  });
  // Cut after the redaction, so that a secret across the cut is still recognised.
  return takeBytes(redaction.redact(await deps.rawStore.get(object_key)), maxBytes);
}

async function* takeBytes(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let leftBytes = maxBytes;
  for await (const chunk of source) {
    if (leftBytes === 0) return;
    const part = chunk.subarray(0, leftBytes);
    leftBytes -= part.length;
    yield part;
    if (leftBytes === 0) return;
  }
}
