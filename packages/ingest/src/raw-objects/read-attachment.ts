import { type AttachmentRow, readWorkspaceSettings } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { createRedaction } from '../redact/redaction.ts';

/** Of lines that are searched for secrets as a whole. */
const MAX_LINE_BYTES = 1024 * 1024;

/**
 * The first `maxBytes` of an attachment; with `redact`, secrets are replaced by as many bytes if the workspace wants that of what it
 * shows. Rejects with a RawStoreError before there are bytes if the object is not there.
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
  // Cut behind the redaction: a secret that the end would tear is found as a whole.
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
