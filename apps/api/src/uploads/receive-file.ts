import type { UploadReceipt } from '@recount/contract';
import { type ReceiveRequest, receiveTranscript } from '@recount/ingest';
import type { ApiDependencies } from '../api-dependencies.ts';
import type { ApiMetrics } from '../plugins/metrics.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { toProblemError } from '../problems/to-problem-error.ts';

/** The agent whose transcripts are read so far. */
const AGENT = 'claude-code';

/** Stores one file for good and counts the outcome. Throws as receiveTranscript does. */
export async function receiveFile(
  deps: ApiDependencies & { metrics: Pick<ApiMetrics, 'observeUpload'> },
  request: ReceiveRequest,
): Promise<UploadReceipt> {
  let sizeBytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of request.body) {
      sizeBytes += chunk.length;
      yield chunk;
    }
  }
  try {
    if (request.agent !== undefined && request.agent !== AGENT) {
      throw new ProblemError('unsupported-format', `recount reads the transcripts of ${AGENT} so far`);
    }
    const { transcript, isDuplicate } = await receiveTranscript(deps, { ...request, body: counted() });
    deps.metrics.observeUpload(isDuplicate ? 'duplicate' : 'accepted', sizeBytes);
    return {
      transcript_id: transcript.id,
      session_id: transcript.session_id,
      status: transcript.status,
      sha256: transcript.sha256,
      size_bytes: transcript.size_bytes,
      duplicate: isDuplicate,
    };
  } catch (error) {
    deps.metrics.observeUpload(toProblemError(error).slug, sizeBytes);
    throw error;
  }
}
