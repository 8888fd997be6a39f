import type { RawObjectOutcome, UploadReceipt } from '@recount/contract';
import { type ReceiveRequest, receiveTranscript, toKeyShare } from '@recount/ingest';
import { noTracing, SIZE_BYTES, TRANSCRIPT_ID, WORKSPACE_ID } from '@recount/service/telemetry';
import type { FastifyBaseLogger } from 'fastify';
import type { ApiDependencies } from '../api-dependencies.ts';
import type { ApiMetrics } from '../metrics/metrics.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { toProblemError } from '../problems/to-problem-error.ts';

interface UploadSlots {
  /**
   * Runs one upload of a key. Throws ProblemError `too-many-uploads` if all slots are in use, or all that one key may
   * take.
   */
  run<T>(keyId: string, upload: () => Promise<T>): Promise<T>;
}

const RETRY_AFTER_SECONDS = 2;

/** Each running upload has its own buffers. Limiting their number bounds the process's memory. */
export function createUploadSlots(maxConcurrentUploads: number, noun = 'uploads'): UploadSlots {
  const maxOfKey = toKeyShare(maxConcurrentUploads);
  const takenByKey = new Map<string, number>();
  let taken = 0;
  return {
    async run(keyId, upload) {
      const takenByThis = takenByKey.get(keyId) ?? 0;
      if (taken >= maxConcurrentUploads) throw toTooMany(`At most ${maxConcurrentUploads} ${noun}`);
      if (takenByThis >= maxOfKey) throw toTooMany(`At most ${maxOfKey} ${noun} of one key`);
      taken += 1;
      takenByKey.set(keyId, takenByThis + 1);
      try {
        return await upload();
      } finally {
        taken -= 1;
        const left = (takenByKey.get(keyId) ?? 0) - 1;
        if (left > 0) takenByKey.set(keyId, left);
        else takenByKey.delete(keyId);
      }
    },
  };
}

const toTooMany = (limit: string): ProblemError =>
  new ProblemError('too-many-uploads', `${limit} at a time; try again`, {
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
  });

/** Labels for the metrics. */
const OUTCOMES: Readonly<Record<RawObjectOutcome, string>> = {
  stored: 'accepted',
  duplicate: 'duplicate',
  healed: 'healed',
  expired: 'duplicate',
};

type ReceiveFileDeps = Omit<ApiDependencies, 'log'> & {
  /** The request's logger, so that its id is logged with the transcript's. */
  log: FastifyBaseLogger;
  metrics: Pick<ApiMetrics, 'observeUpload'>;
};

/** Stores one file durably; counts, logs and traces the outcome. Throws like receiveTranscript. */
export async function receiveFile(deps: ReceiveFileDeps, request: ReceiveRequest): Promise<UploadReceipt> {
  const { workspaceId } = request;
  const { tracing = noTracing } = deps;
  let sizeBytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of request.body) {
      sizeBytes += chunk.length;
      yield chunk;
    }
  }
  try {
    const { transcript, isDuplicate, rawObject } = await tracing.span(
      'upload',
      { [WORKSPACE_ID]: workspaceId },
      async () => {
        const result = await receiveTranscript(deps, { ...request, body: counted() });
        tracing.annotate({ [TRANSCRIPT_ID]: result.transcript.id, [SIZE_BYTES]: sizeBytes });
        return result;
      },
    );
    deps.metrics.observeUpload(OUTCOMES[rawObject], sizeBytes);
    // Logs the id that the worker's log lines will have.
    deps.log.info(
      { workspaceId, transcriptId: transcript.id, sizeBytes, isDuplicate, rawObject },
      'transcript received',
    );
    return {
      transcript_id: transcript.id,
      session_id: transcript.session_id,
      status: transcript.status,
      sha256: transcript.sha256,
      size_bytes: transcript.size_bytes,
      duplicate: isDuplicate,
      raw_object: rawObject,
    };
  } catch (error) {
    deps.metrics.observeUpload(toProblemError(error).slug, sizeBytes);
    throw error;
  }
}
