import { toSessionTitle } from '@recount/core';
import type { Database } from '../database/database.ts';
import { showPeople } from '../people/show-people.ts';
import type { TranscriptRow } from '../schema/transcripts.ts';
import { readShownRepositories } from '../workspaces/repository-renames.ts';
import type { SessionRow } from './read-sessions.ts';
import { NO_ANNOTATION, readAnnotations, type SessionAnnotation } from './session-annotations.ts';
import { readSessionErrors, type SessionErrors } from './session-errors.ts';

/** A session as answers have it. */
type PresentedSession = SessionRow & SessionErrors & SessionAnnotation & { title: string; sent_person: string | null };

/** Adds to sessions, in the same order, their titles, the people that reports show, what people gave them, and counts of failures. */
export async function presentSessions(
  database: Database,
  workspaceId: string,
  rows: readonly SessionRow[],
): Promise<PresentedSession[]> {
  const ids = rows.map(({ session_id }) => session_id);
  const errors = await readSessionErrors(database, workspaceId, ids);
  const annotations = await readAnnotations(database, workspaceId, ids);
  const none: SessionErrors = { tool_error_count: 0, api_error_count: 0 };
  const shown = await showPeople(database, workspaceId, rows);
  return shown.map((row) => {
    const annotation = annotations.get(row.session_id) ?? NO_ANNOTATION;
    return { ...row, ...annotation, title: toTitle(row, annotation), ...(errors.get(row.session_id) ?? none) };
  });
}

/** Gives transcripts the titles of their sessions, and their repositories and people the names that are shown, in the same order. */
export async function titleTranscripts(
  database: Database,
  workspaceId: string,
  rows: readonly TranscriptRow[],
): Promise<(TranscriptRow & { title: string; sent_person: string | null })[]> {
  const annotations = await readAnnotations(
    database,
    workspaceId,
    rows.map(({ session_id }) => session_id),
  );
  const told = rows.flatMap(({ repository }) => repository ?? []);
  const shownNames = await readShownRepositories(database, workspaceId, told);
  return (await showPeople(database, workspaceId, rows)).map((row) => ({
    ...row,
    title: toTitle(row, annotations.get(row.session_id) ?? NO_ANNOTATION),
    repository: row.repository === null ? null : (shownNames.get(row.repository) ?? row.repository),
  }));
}

const toTitle = (
  row: Pick<SessionRow, 'title' | 'initial_prompt' | 'session_id'>,
  { given_title }: SessionAnnotation,
): string =>
  toSessionTitle({
    givenTitle: given_title,
    agentTitle: row.title,
    initialPrompt: row.initial_prompt,
    sessionId: row.session_id,
  });
