import { openLiveStream } from '@recount/db';
import { monotonicFactory } from 'ulid';
import { LiveError } from './live-error.ts';
import { createLiveWriter, type LiveDependencies, type LiveWriter } from './live-writer.ts';

/** For streams whose client gives them no name. */
export const newStreamId = monotonicFactory();

export interface LiveLimits {
  maxOpenStreams: number;
  maxBytes: number;
}

export interface LiveRequest {
  workspaceId: string;
  streamId: string;
  sessionId: string;
  /** `claude-code`, `codex` or `amp`; of a stream that is known already, not looked at. */
  agent: string;
  sourceFormat?: string | undefined;
  path?: string | undefined;
  /** Where in the stream the bytes of the request begin. */
  offset: number;
}

/**
 * Begins a stream, or goes on with it: whoever appended before can no more. Throws LiveError `too-many-streams`,
 * `wrong-session`, `closed`, and `offset-mismatch` where bytes would be missing.
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
  return await createLiveWriter(deps, stream, limits);
}
