import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { isOneOf } from '../filters/attributed-to.ts';
import { attachments } from '../schema/attachments.ts';
import { liveStreams } from '../schema/live.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';

/**
 * The person of each session's texts, by its id; null if unknown. It is the person of its primary version, which may be
 * someone else than the session's, whose bytes that version then contains. A session without an ingested transcript has the person of its
 * streams, if they agree. Leaves out ids that are neither.
 */
export async function readSessionPeople(
  database: Database,
  workspaceId: string,
  sessionIds: readonly string[],
): Promise<Map<string, string | null>> {
  const ids = [...new Set(sessionIds)];
  if (ids.length === 0) return new Map();
  const list = sql`${sql.param(ids)}::text[]`;
  const { rows } = await database.execute<{ session_id: string; person: string | null }>(sql`
    SELECT s.session_id,
      CASE WHEN p.person IS NULL AND p.uploader_key_id IS NOT DISTINCT FROM s.uploader_key_id THEN s.person
        ELSE coalesce(p.person, p.uploader_key_id) END AS person
    FROM ${sessions} AS s
    JOIN ${transcripts} AS p ON p.workspace_id = s.workspace_id AND p.id = s.primary_transcript_id
    WHERE s.workspace_id = ${workspaceId} AND s.session_id = ANY(${list})`);
  const people = new Map(rows.map(({ session_id, person }) => [session_id, person]));
  const missing = ids.filter((id) => !people.has(id));
  if (missing.length === 0) return people;
  const { rows: streams } = await database.execute<{ session_id: string; person: string | null }>(sql`
    SELECT session_id, CASE WHEN count(*) = count(person) AND min(person) = max(person) THEN min(person) END AS person
    FROM ${liveStreams} WHERE workspace_id = ${workspaceId} AND session_id = ANY(${sql.param(missing)}::text[])
    GROUP BY session_id`);
  for (const { session_id, person } of streams) people.set(session_id, person);
  return people;
}

/** A file that belongs to a session, and whether the session's person, or the uploader of their sessions, has sent it. */
export interface PartOfSession {
  sessionId: string;
  /** The person of the session; null if unknown. */
  person: string | null;
  /** False for what someone else has uploaded under the session's id. */
  isOfPerson: boolean;
}

/** The session of a transcript, or of an attachment; undefined if there is none. */
export async function findPartOfSession(
  database: Database,
  workspaceId: string,
  part: { transcriptId: string } | { attachmentId: string },
): Promise<PartOfSession | undefined> {
  const [table, id] = 'transcriptId' in part ? [transcripts, part.transcriptId] : [attachments, part.attachmentId];
  const { rows } = await database.execute<{ session_id: string; person: string | null; is_of_person: boolean }>(sql`
    SELECT p.session_id, CASE WHEN s.session_id IS NULL THEN p.person ELSE s.person END AS person,
      s.session_id IS NULL OR p.person IS NOT DISTINCT FROM s.person
        OR (p.person IS NULL AND p.uploader_key_id IS NOT DISTINCT FROM s.uploader_key_id) AS is_of_person
    FROM ${table} AS p
    LEFT JOIN ${sessions} AS s ON s.workspace_id = ${workspaceId} AND s.session_id = p.session_id
    WHERE p.workspace_id = ${workspaceId} AND p.id = ${id}`);
  const [row] = rows;
  return row && { sessionId: row.session_id, person: row.person, isOfPerson: row.is_of_person };
}

/**
 * True if someone who has none of the names, the reader's, has sent a part of the session (a version, an attachment, a
 * stream). Without names, that is anyone who is known.
 */
export async function hasTextsOfOthers(
  database: Database,
  workspaceId: string,
  sessionId: string,
  names: readonly string[],
): Promise<boolean> {
  const part = (table: typeof transcripts | typeof attachments | typeof liveStreams): SQL => sql`
    SELECT person, uploader_key_id FROM ${table} WHERE workspace_id = ${workspaceId} AND session_id = ${sessionId}`;
  const isOfOther =
    names.length === 0
      ? sql`p.person IS NOT NULL`
      : sql`CASE WHEN p.person IS NULL THEN p.uploader_key_id IS DISTINCT FROM s.uploader_key_id
          ELSE NOT ${isOneOf(sql`p.person`, names)} END`;
  const { rows } = await database.execute(sql`
    SELECT FROM (${part(transcripts)} UNION ALL ${part(attachments)} UNION ALL ${part(liveStreams)}) AS p
    LEFT JOIN ${sessions} AS s ON s.workspace_id = ${workspaceId} AND s.session_id = ${sessionId}
    WHERE ${isOfOther} LIMIT 1`);
  return rows.length > 0;
}

/** The names of all machines with sessions, at most `limit`, in no order. */
export async function listMachines(database: Database, workspaceId: string, limit: number): Promise<string[]> {
  const { rows } = await database.execute<{ machine: string }>(sql`
    SELECT DISTINCT machine FROM ${sessions} WHERE workspace_id = ${workspaceId} AND machine IS NOT NULL LIMIT ${limit}`);
  return rows.map(({ machine }) => machine);
}
