import type { InsertedTranscript } from '@recount/db';
import { monotonicFactory } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { type IdentifiedUpload, prepareUpload, type ReadRedaction, type ReceiveRequest } from './prepare-upload.ts';
import { receiveTranscript } from './receive-transcript.ts';
import { recordUploads } from './record-uploads.ts';
import { type ReceiveResult, recordDescribed, settleUpload, toUpload } from './settle-upload.ts';

/** A request that names no transcript. With an id it could be repeated, and would find its object described. */
export type BatchedRequest = Omit<ReceiveRequest, 'transcriptId'>;

interface BatchSteps {
  readRedaction?: ReadRedaction;
}

type Settled<Value> = PromiseSettledResult<Value>;

const newBatchId = monotonicFactory();

/**
 * Accepts transcripts of one workspace and priority like `receiveTranscript`, with fewer syncs and statements: their
 * objects are stored together, their descriptions as one object, their rows and jobs in one transaction. Resolves to
 * their outcomes, in order, when all that were accepted are durable; each is refused only for its own reason.
 */
export async function receiveTogether(
  deps: IngestDependencies,
  requests: readonly BatchedRequest[],
  steps: BatchSteps = {},
): Promise<Settled<ReceiveResult>[]> {
  const [first] = requests;
  if (first === undefined) return [];
  if (requests.length === 1) return await Promise.allSettled([receiveTranscript(deps, first, steps)]);
  const uploads = await storeTogether(deps, requests, steps);
  const recorded = await recordTogether(
    deps,
    uploads.filter(isFulfilled).map(({ value }) => value),
  );
  const outcomes = recorded.values();
  return await Promise.allSettled(
    uploads.map(async (upload) => {
      if (!isFulfilled(upload)) throw upload.reason;
      const outcome = outcomes.next().value;
      if (outcome?.status !== 'fulfilled') throw outcome?.reason;
      return await settleUpload(deps, upload.value, outcome.value);
    }),
  );
}

const isFulfilled = <Value>(outcome: Settled<Value>): outcome is PromiseFulfilledResult<Value> =>
  outcome.status === 'fulfilled';

/** Makes the objects of a batch durable, and says what they are. */
async function storeTogether(
  deps: IngestDependencies,
  requests: readonly BatchedRequest[],
  { readRedaction }: BatchSteps,
): Promise<Settled<IdentifiedUpload>[]> {
  const batchId = newBatchId();
  const prepared = await Promise.allSettled(
    requests.map((request) => prepareUpload(deps, request, { readRedaction, batchId })),
  );
  const objects = prepared.filter(isFulfilled).map(({ value: { objectKey: key, chunks: body, signal } }) => {
    return { key, body, signal };
  });
  const puts = (await deps.rawStore.putAll(objects)).values();
  return await Promise.allSettled(
    prepared.map(async (upload) => {
      if (!isFulfilled(upload)) throw upload.reason;
      const put = puts.next().value;
      if (put?.status !== 'fulfilled') throw put?.reason;
      return await upload.value.identify();
    }),
  );
}

/**
 * Records uploads in one transaction, which describes the new ones before it commits. If that fails, each gets its own
 * description and transaction, so that it fails only for its own reason.
 */
async function recordTogether(
  deps: IngestDependencies,
  uploads: readonly IdentifiedUpload[],
): Promise<Settled<InsertedTranscript>[]> {
  const describeNew = async (ids: ReadonlySet<string>): Promise<void> => {
    const added = uploads.filter(({ transcript }) => ids.has(transcript.id));
    const descriptions = added.map(({ transcript, description }) => [transcript.object_key, description] as const);
    await deps.rawStore.describeTogether(new Map(descriptions));
  };
  try {
    const recorded = await recordUploads(deps, uploads.map(toUpload), describeNew);
    return recorded.map((value) => ({ status: 'fulfilled', value }));
  } catch {
    return await Promise.allSettled(
      uploads.map((upload) =>
        recordDescribed(deps, upload, async (own) => {
          const [recorded] = await recordUploads(deps, [own]);
          if (recorded === undefined) throw new TypeError('An upload was not recorded');
          return recorded;
        }),
      ),
    );
  }
}
