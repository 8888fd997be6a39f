import { type Database, findSession, resolveSession, type SessionRow, UnresolvedNameError } from '@recount/db';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { requireTranscript } from './transcripts.ts';

/** The answer of `requireSession` if there is no such session. */
export const noSuchSessionResponse = problemResponse(
  'The workspace has no such session; one appears when a transcript of it is ingested',
);

/**
 * Returns the session with this id, or the only one whose id begins with it. Throws ProblemError `not-found`, and
 * UnresolvedNameError if several ids begin with it.
 */
export async function requireSession(database: Database, workspaceId: string, name: string): Promise<SessionRow> {
  const found = await findSession(database, workspaceId, name);
  if (found !== undefined) return found;
  try {
    const sessionId = await resolveSession(database, workspaceId, name);
    const session = await findSession(database, workspaceId, sessionId);
    if (session !== undefined) return session;
  } catch (error) {
    if (!(error instanceof UnresolvedNameError) || error.isAmbiguous) throw error;
    throw noSuchSession(error.candidates);
  }
  throw noSuchSession();
}

/**
 * Throws ProblemError `not-found` for a transcript of another session, `no-rows` if it is not ingested, `expired` if
 * retention has deleted its messages.
 */
export async function requireRows(database: Database, session: SessionRow, transcriptId: string): Promise<string> {
  const transcript = await requireTranscript(database, session.workspace_id, transcriptId);
  if (transcript.session_id !== session.session_id) {
    throw new ProblemError('not-found', 'The session has no such transcript');
  }
  const { rows_deleted_at: deletedAt } = transcript;
  if (deletedAt !== null) throw new ProblemError('expired', `The messages were deleted at ${deletedAt}, by their age`);
  if (transcript.row_set_id !== null) return transcript.row_set_id;
  const longer =
    transcript.superseded_by === null
      ? ''
      : `; its messages are in ${transcript.superseded_by}, or in a version that replaced it`;
  throw new ProblemError('no-rows', `The transcript is ${transcript.status}${longer}`);
}

/** A 404 that lists sessions that may have been meant. */
export function noSuchSession(candidates: readonly string[] = []): ProblemError {
  const hint =
    candidates.length > 0
      ? `did you mean ${candidates.join(' or ')}?`
      : 'one appears when a transcript of it is ingested';
  return new ProblemError('not-found', `There is no such session; ${hint}`, {
    extensions: { candidates: [...candidates] },
  });
}
