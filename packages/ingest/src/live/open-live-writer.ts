import { openLiveStream } from '@recount/db';
import { monotonicFactory } from 'ulid';
import { LiveError } from './live-error.ts';
import { createLiveWriter, type LiveDependencies, type LiveWriter } from './live-writer.ts';
import { createOverlap, readStoredStream } from './overlap.ts';

/** For streams whose client gives them no name. */
export const newStreamId = monotonicFactory();

export interface LiveLimits {
  maxOpenStreams: number;
  maxBytes: number;
}

export interface LiveRequest {
  workspaceId: string;
  /** Id of the API key that brings it. */
  uploaderKeyId: string;
  machine?: string | undefined;
  person?: string | undefined;
  streamId: string;
  sessionId: string;
  /** Id of the agent; of a stream that is known already, not looked at. */
  agent: string;
  sourceFormat?: string | undefined;
  path?: string | undefined;
  /** Where in the stream the bytes of the request begin. */
  offset: number;
}

/**
 * Begins a stream, or goes on with it: whoever appended before can no more. What is sent again of the stored bytes is
 * compared with them: `append` throws LiveError `different-bytes` where it is something else. Throws LiveError
 * `too-many-streams`, `wrong-session`, `closed`, and `offset-mismatch` where bytes would be missing.
 */
export async function openLiveWriter(
  deps: LiveDependencies,
  request: LiveRequest,
  limits: LiveLimits,
): Promise<LiveWriter> {
  const { workspaceId, streamId, sessionId, offset } = request;
  const stream = await deps.database.withTransaction((transaction) =>
    openLiveStream(
      transaction,
      {
        workspace_id: workspaceId,
        id: streamId,
        session_id: sessionId,
        agent: request.agent,
        source_format: request.sourceFormat ?? null,
        path: request.path ?? null,
        uploader_key_id: request.uploaderKeyId,
        machine: request.machine ?? null,
        person: request.person ?? null,
        writer_id: newStreamId(),
      },
      limits.maxOpenStreams,
    ),
  );
  if (stream === undefined) {
    throw new LiveError('too-many-streams', `At most ${limits.maxOpenStreams} streams of a workspace are open at once`);
  }
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
    flush: writer.flush,
    end: writer.end,
    async append(bytes) {
      const rest = await overlap.take(bytes);
      if (rest.length > 0) await writer.append(rest);
    },
  };
}
