import type { IngestDependencies } from '../ingest-dependencies.ts';
import { prepareUpload, type ReadRedaction, type ReceiveRequest } from './prepare-upload.ts';
import { createUploadRecorder, type RecordUpload } from './record-uploads.ts';
import { type ReceiveResult, recordDescribed, settleUpload } from './settle-upload.ts';

export const DEFAULT_MAX_TRANSCRIPT_BYTES = 2 * 1024 ** 3;

/** Steps that many uploads of a workspace take together. By default each upload takes its own. */
interface SharedSteps {
  record?: RecordUpload;
  readRedaction?: ReadRedaction;
}

/**
 * Accepts a transcript. It streams it to the raw store, describes it there, then inserts its row and its job in one
 * transaction, by default its own. When this resolves, the transcript is durable and will be ingested. Uploading the
 * same bytes for the same session again is a duplicate. The stored copy is read and compared; if it is intact, the
 * second one is discarded, otherwise it replaces the stored one.
 *
 * Throws ReceiveError for what can never be accepted, the body's own errors, and RawStoreError or database errors;
 * after the latter an object without a row may remain, which `recount doctor` finds.
 */
export async function receiveTranscript(
  deps: IngestDependencies,
  request: ReceiveRequest,
  { record = createUploadRecorder(deps), readRedaction }: SharedSteps = {},
): Promise<ReceiveResult> {
  const { objectKey, chunks, identify } = await prepareUpload(deps, request, { readRedaction });
  await deps.rawStore.put(objectKey, chunks, { signal: request.signal });
  const upload = await identify();
  return await settleUpload(deps, upload, await recordDescribed(deps, upload, record));
}
