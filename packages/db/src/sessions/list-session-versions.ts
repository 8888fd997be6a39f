import type { Database } from '../database/database.ts';
import { and, desc, eq, gte, inArray } from '../drizzle.cjs';
import { toHiddenWorkspace } from '../planner.ts';
import { transcripts } from '../transcripts/schema.ts';

/** What a longer transcript of the session is compared with. */
export interface StoredVersion {
  id: string;
  sizeBytes: number;
  sha256: string;
}

/** Of a session that is uploaded again and again, all but the latest are superseded. */
const MAX_VERSIONS = 20;

/** The largest transcripts of a session that have rows or will have some, and at least `minBytes`. */
export async function listSessionVersions(
  database: Database,
  workspaceId: string,
  sessionId: string,
  minBytes: number,
): Promise<StoredVersion[]> {
  return await database
    .select({ id: transcripts.id, sizeBytes: transcripts.size_bytes, sha256: transcripts.sha256 })
    .from(transcripts)
    .where(
      and(
        eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)),
        eq(transcripts.session_id, sessionId),
        gte(transcripts.size_bytes, minBytes),
        inArray(transcripts.status, ['queued', 'processing', 'ingested']),
      ),
    )
    .orderBy(desc(transcripts.size_bytes))
    .limit(MAX_VERSIONS);
}
