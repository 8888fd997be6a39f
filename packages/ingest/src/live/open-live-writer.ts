import { type LiveStreamRow, nameLiveStream, openLiveStream } from '@recount/db';
import { monotonicFactory } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { toKeyShare } from '../key-share.ts';
import { createParameterRedaction } from '../secrets/redact-parameters.ts';
import type { LiveShare } from './live-budget.ts';
import { LiveError } from './live-error.ts';
import { createLiveWriter, type LiveDependencies, type LiveWriter } from './live-writer.ts';
import { findTranscriptOf, readStreamBytes } from './stream-bytes.ts';

/** The part of a stream that a request sends again. */
export interface Overlap {
  /** Stored bytes that have not been sent again yet. */
  readonly leftBytes: number;
  /**
   * Compares bytes with those stored at the same offset; returns the bytes beyond them. Throws LiveError
   * `different-bytes`, or `closed` if the stored bytes are not available.
   */
  take(bytes: Uint8Array): Promise<Uint8Array>;
}

/** Compares incoming bytes with the first `lengthBytes` of `stored`. Reads no more than is sent again. */
export function createOverlap(stored: AsyncIterable<Uint8Array>, lengthBytes: number): Overlap {
  const chunks = stored[Symbol.asyncIterator]();
  let leftBytes = lengthBytes;
  let held: Uint8Array = new Uint8Array(0);
  return {
    get leftBytes() {
      return leftBytes;
    },
    async take(bytes) {
      let rest = bytes;
      while (rest.length > 0 && leftBytes > 0) {
        if (held.length === 0) {
          const next = await chunks.next();
          if (next.done) throw new LiveError('closed', 'What is stored cannot be compared with what was sent');
          held = next.value;
        }
        const length = Math.min(rest.length, held.length, leftBytes);
        if (Buffer.compare(rest.subarray(0, length), held.subarray(0, length)) !== 0) {
          throw new LiveError('different-bytes', 'The stored bytes at this offset differ');
        }
        rest = rest.subarray(length);
        held = held.subarray(length);
        leftBytes -= length;
      }
      if (leftBytes === 0) await chunks.return?.();
      return rest;
    },
  };
}

/** The bytes that were sent, from an offset on. Empty if they are gone, or if secrets were removed from them. */
export async function* readStoredStream(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  stream: LiveStreamRow,
  offset: number,
): AsyncGenerator<Uint8Array> {
  const transcript = await findTranscriptOf(deps, stream);
  const isAsSent =
    transcript === undefined || (transcript.stored_sha256 === null && transcript.raw_deleted_at === null);
  if (isAsSent) yield* readStreamBytes(deps, stream, offset);
}

/** For streams that the client did not name. */
export const newStreamId = monotonicFactory();

export interface LiveLimits {
  /** A workspace may have so many; one key may hold its share of them. */
  maxOpenStreams: number;
  maxBytes: number;
  /** The stream's part of the memory of the process; the default has no limit. */
  share?: LiveShare;
}

export interface LiveRequest {
  workspaceId: string;
  /** Id of the API key that sends it. */
  uploaderKeyId: string;
  machine?: string | undefined;
  person?: string | undefined;
  streamId: string;
  sessionId: string;
  /** Id of the agent; ignored for a stream that already exists. */
  agent: string;
  sourceFormat?: string | undefined;
  path?: string | undefined;
  /** Offset in the stream where the request's bytes begin. */
  offset: number;
}

/**
 * Begins or continues a stream; earlier writers can no longer append. Bytes that are sent again are compared with the
 * stored ones: `append` throws LiveError `different-bytes` if they differ. Throws LiveError `too-many-streams`,
 * `wrong-session`, `closed`, `no-memory`, or `offset-mismatch` if bytes would be missing.
 */
export async function openLiveWriter(
  deps: LiveDependencies,
  request: LiveRequest,
  limits: LiveLimits,
): Promise<LiveWriter> {
  const { workspaceId, streamId, sessionId, offset } = request;
  const { toText } = await createParameterRedaction(deps.database.database, workspaceId);
  const [path, machine, person] = await Promise.all([request.path, request.machine, request.person].map(toText));
  const openLimits = { ofWorkspace: limits.maxOpenStreams, ofKey: toKeyShare(limits.maxOpenStreams) };
  const stream = await deps.database.withTransaction(async (transaction) => {
    await nameLiveStream(transaction, { workspaceId, streamId }, sessionId);
    return await openLiveStream(
      transaction,
      {
        workspace_id: workspaceId,
        id: streamId,
        session_id: sessionId,
        agent: request.agent,
        source_format: request.sourceFormat ?? null,
        path: path ?? null,
        uploader_key_id: request.uploaderKeyId,
        machine: machine ?? null,
        person: person ?? null,
        writer_id: newStreamId(),
      },
      openLimits,
    );
  });
  if (stream === 'ofWorkspace' || stream === 'ofKey') {
    const holder = stream === 'ofKey' ? 'a key' : 'a workspace';
    throw new LiveError('too-many-streams', `At most ${openLimits[stream]} concurrent streams of ${holder}`);
  }
  if (stream === undefined) throw new LiveError('taken-over', 'Another request has just made and ended the stream');
  const storedBytes = stream.stored_bytes;
  if (stream.session_id !== sessionId) throw new LiveError('wrong-session', 'The stream belongs to another session');
  if (stream.state !== 'open') throw new LiveError('closed', 'The stream has ended', storedBytes);
  if (offset > storedBytes) {
    throw new LiveError('offset-mismatch', `The bytes from ${storedBytes} to ${offset} are missing`, storedBytes);
  }
  const writer = await createLiveWriter(deps, stream, limits);
  if (offset === storedBytes) return writer;
  const overlap = createOverlap(readStoredStream(deps, stream, offset), storedBytes - offset);
  return {
    get storedBytes() {
      return writer.storedBytes;
    },
    failed: writer.failed,
    flush: () => writer.flush(),
    end: (ending) => writer.end(ending),
    async append(bytes) {
      const rest = await overlap.take(bytes);
      if (rest.length > 0) await writer.append(rest);
    },
  };
}
