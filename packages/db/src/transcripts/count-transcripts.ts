import type { Database } from '../database/database.ts';
import { and, count, eq, inArray } from '../drizzle.cjs';
import { type TranscriptStatus, transcripts } from './schema.ts';

/** Transcripts by status; of all workspaces where none is named. */
export async function countTranscriptsByStatus(
  database: Database,
  filter: { workspaceId?: string; ids?: readonly string[] } = {},
): Promise<Record<TranscriptStatus, number>> {
  const counts: Record<TranscriptStatus, number> = { queued: 0, processing: 0, ingested: 0, superseded: 0, failed: 0 };
  const rows = await database
    .select({ status: transcripts.status, count: count() })
    .from(transcripts)
    .where(
      and(
        filter.workspaceId === undefined ? undefined : eq(transcripts.workspace_id, filter.workspaceId),
        filter.ids === undefined ? undefined : inArray(transcripts.id, [...filter.ids]),
      ),
    )
    .groupBy(transcripts.status);
  for (const row of rows) counts[row.status] = row.count;
  return counts;
}
