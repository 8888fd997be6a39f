import type { DeliveryTarget, StoredTranscript } from '@recount/collect';
import { DeliveryError } from '@recount/collect/delivery-error';
import {
  type Database,
  listAttachments,
  listStatesByContent,
  listTranscriptStates,
  OPERATOR,
  readSearchBacklog,
  type TranscriptContent,
  type TranscriptState,
} from '@recount/db';
import { RawStoreError } from '@recount/storage';
import { toFailureReason } from '../failure-reason.ts';
import { gatherCalls } from '../gather-calls.ts';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { ReceiveError } from '../receive/measure-body.ts';
import type { ReceiveRequest } from '../receive/prepare-upload.ts';
import { DEFAULT_MAX_ATTACHMENT_BYTES, receiveAttachment } from '../receive/receive-attachment.ts';
import { type BatchedRequest, receiveTogether } from '../receive/receive-together.ts';
import { DEFAULT_MAX_TRANSCRIPT_BYTES, receiveTranscript } from '../receive/receive-transcript.ts';
import { createUploadRecorder } from '../receive/record-uploads.ts';
import type { ReceiveResult } from '../receive/settle-upload.ts';
import { createRedactionReader } from '../secrets/redact-parameters.ts';

/** Lower than the priority of uploads during a backfill. */
const BACKFILL_PRIORITY = -1;
/** Small transcripts in progress at a time. This many can share a transaction. */
const MAX_SMALL_DELIVERIES = 128;
/** A single transcript hardly notices it; when there are many, more share a statement. */
const GATHER_DELAY_MS = 30;
/** Longer transcripts are received separately: waiting for others costs them more than a sync. */
const MAX_BATCHED_BYTES = 256 * 1024;
const MAX_FOUND_AT_ONCE = 100;
const MAX_LISTED_AT_ONCE = 500;

/** Stores transcripts and attachments directly in raw store and database, without an API. */
export function createDirectTarget(
  deps: IngestDependencies,
  {
    workspaceId,
    machine,
    person,
    maxBytes = DEFAULT_MAX_TRANSCRIPT_BYTES,
  }: { workspaceId: string; maxBytes?: number } & Pick<ReceiveRequest, 'machine' | 'person'>,
): DeliveryTarget {
  const { database } = deps.database;
  const receive = createReceiver(deps, workspaceId);
  const findByContent = gatherCalls(
    { maxInputs: MAX_FOUND_AT_ONCE, delayMs: GATHER_DELAY_MS },
    (contents: readonly TranscriptContent[]) => listStatesByContent(database, workspaceId, contents),
  );
  return {
    maxSmallDeliveries: MAX_SMALL_DELIVERIES,
    find: (content) =>
      withTargetErrors(async () => {
        const row = await findByContent(content);
        return row?.raw_damaged_at === null ? toStoredTranscript(row) : undefined;
      }),
    send: ({ path, repository, worktree, open, sha256, sizeBytes }, signal) =>
      withTargetErrors(async () => {
        const origin = { workspaceId, uploaderKeyId: OPERATOR, machine, person, repository, worktree };
        const upload = { ...origin, path, body: open(0), sha256, maxBytes };
        const request = { ...upload, priority: BACKFILL_PRIORITY, signal };
        const { transcript, isDuplicate, rawObject } = await receive(request, sizeBytes);
        return {
          transcript: toStoredTranscript(transcript),
          isDuplicate,
          isHealed: rawObject === 'healed',
          sentFromByte: 0,
        };
      }),
    readStatuses: (ids) =>
      withTargetErrors(async () => {
        return (await listTranscriptStates(database, workspaceId, ids)).map(toStoredTranscript);
      }),
    countUnindexed: () =>
      withTargetErrors(async () => {
        const { waitingSessions, failingSessions } = await readSearchBacklog(database, workspaceId);
        return waitingSessions - failingSessions;
      }),
    listAttachments: (sessionId) =>
      withTargetErrors(() => listAttachmentContents(deps.database.database, workspaceId, sessionId)),
    sendAttachment: ({ agent, sessionId, path, modifiedAtMs, open }, signal) =>
      withTargetErrors(async () => {
        const upload = { workspaceId, uploaderKeyId: OPERATOR, machine, person, agent, sessionId, path, modifiedAtMs };
        const request = { ...upload, body: open(), maxBytes: DEFAULT_MAX_ATTACHMENT_BYTES, signal };
        const { attachment, outcome } = await receiveAttachment(deps, request);
        return { attachmentId: attachment.id, outcome };
      }),
  };
}

/** Small transcripts that come at the same time share a transaction. */
function createReceiver(
  deps: IngestDependencies,
  workspaceId: string,
): (request: BatchedRequest, sizeBytes?: number) => Promise<ReceiveResult> {
  const steps = {
    record: createUploadRecorder(deps, { delayMs: GATHER_DELAY_MS }),
    readRedaction: createRedactionReader(deps.database.database, workspaceId),
  };
  const receiveBatched = gatherCalls(
    { maxInputs: MAX_SMALL_DELIVERIES, delayMs: GATHER_DELAY_MS },
    (requests: readonly BatchedRequest[]) => receiveTogether(deps, requests, steps),
  );
  return async (request, sizeBytes = Number.POSITIVE_INFINITY) => {
    if (sizeBytes > MAX_BATCHED_BYTES) return await receiveTranscript(deps, request, steps);
    const outcome = await receiveBatched(request);
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  };
}

/** Paths and digests of a session's attachments. */
async function listAttachmentContents(
  database: Database,
  workspaceId: string,
  sessionId: string,
): Promise<Set<string>> {
  const contents = new Set<string>();
  for (let after: { path: string; id: string } | undefined; ; ) {
    const page = await listAttachments(database, workspaceId, sessionId, { after, limit: MAX_LISTED_AT_ONCE });
    for (const { path, sha256 } of page) contents.add(`${path}/${sha256}`);
    after = page.at(-1);
    if (page.length < MAX_LISTED_AT_ONCE) return contents;
  }
}

function toStoredTranscript({ id, session_id, status, failure_reason }: TranscriptState): StoredTranscript {
  return { transcriptId: id, sessionId: session_id, status, failureReason: failure_reason };
}

async function withTargetErrors<Result>(operation: () => Promise<Result>): Promise<Result> {
  try {
    return await operation();
  } catch (error) {
    throw toTargetError(error);
  }
}

/** Unknown errors count as temporary, as everywhere else, because most are the database's. */
function toTargetError(cause: unknown): DeliveryError {
  if (cause instanceof ReceiveError) return new DeliveryError('rejected', cause.message, { cause });
  const isFinal = cause instanceof RawStoreError && !cause.retryable;
  return new DeliveryError(isFinal ? 'rejected' : 'unavailable', toFailureReason(cause), { cause });
}
