import {
  type Database,
  findPartOfSession,
  type PartOfSession,
  readSessionPeople,
  resolveSession,
  UnresolvedNameError,
} from '@recount/db';

/** Ids in the path and the query of a request. */
export interface SubjectIds {
  /** Or the beginning of an id. */
  sessionId: string | undefined;
  transcriptId: string | undefined;
  attachmentId: string | undefined;
}

export interface FoundSession {
  id: string;
  /** Null if unknown. */
  person: string | null;
  /** False if a transcript or attachment is meant that someone else has uploaded under the session's id. */
  isOfPerson: boolean;
}

/** The session that a request is about; undefined if there is none. Throws UnresolvedNameError for an ambiguous id. */
export async function findSubject(
  database: Database,
  workspaceId: string,
  { sessionId, transcriptId, attachmentId }: SubjectIds,
): Promise<FoundSession | undefined> {
  const parts: (PartOfSession | undefined)[] = [];
  if (transcriptId !== undefined) parts.push(await findPartOfSession(database, workspaceId, { transcriptId }));
  if (attachmentId !== undefined) parts.push(await findPartOfSession(database, workspaceId, { attachmentId }));
  const [first] = parts;
  const named = sessionId === undefined ? undefined : await findNamed(database, workspaceId, sessionId);
  const found = named ?? (first && { id: first.sessionId, person: first.person });
  if (found === undefined) return undefined;
  return { ...found, isOfPerson: parts.every((part) => part?.isOfPerson && part.person === found.person) };
}

/** The session or stream with this id, else the session whose id begins with it, as routes find it. */
async function findNamed(
  database: Database,
  workspaceId: string,
  name: string,
): Promise<{ id: string; person: string | null } | undefined> {
  const person = (await readSessionPeople(database, workspaceId, [name])).get(name);
  if (person !== undefined) return { id: name, person };
  try {
    const id = await resolveSession(database, workspaceId, name);
    return { id, person: (await readSessionPeople(database, workspaceId, [id])).get(id) ?? null };
  } catch (error) {
    if (!(error instanceof UnresolvedNameError) || error.isAmbiguous) throw error;
    return undefined;
  }
}
