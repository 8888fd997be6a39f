import type { Database } from '../database.ts';
import { and, asc, desc, eq, isNotNull, ne, sql } from '../drizzle.cjs';
import { transcriptFigures } from '../schema/transcript-figures.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';

/**
 * Makes the session's row follow from its ingested transcripts: the longest one is primary (ties by content hash, so
 * that the order of arrival never matters), the others are marked diverged. A session file goes before any stream: it
 * has the prompts, and every run of the session. Deletes the row where none is left.
 * The caller holds the session's lock.
 */
export async function refreshSession(transaction: Database, workspaceId: string, sessionId: string): Promise<void> {
  const ofSession = and(eq(transcripts.workspace_id, workspaceId), eq(transcripts.session_id, sessionId));
  // Not by status: a transcript that waits to be parsed anew keeps its rows meanwhile.
  const hasRows = and(ofSession, isNotNull(transcripts.ingested_at));
  const versions = await transaction
    .select()
    .from(transcripts)
    .where(hasRows)
    .orderBy(eq(transcripts.format, 'claude-stream-json'), desc(transcripts.size_bytes), asc(transcripts.sha256));
  const [primary, ...diverged] = versions;
  if (primary === undefined) {
    await transaction
      .delete(sessions)
      .where(and(eq(sessions.workspace_id, workspaceId), eq(sessions.session_id, sessionId)));
    return;
  }
  if (versions.some(({ id, is_diverged }) => is_diverged !== (id !== primary.id))) {
    const isOther = sql<boolean>`(${transcripts.id} <> ${primary.id})`;
    await transaction
      .update(transcripts)
      .set({ is_diverged: isOther })
      .where(and(hasRows, ne(transcripts.is_diverged, isOther)));
  }
  const row = {
    workspace_id: workspaceId,
    session_id: sessionId,
    agent: primary.agent,
    is_subagent: primary.is_subagent,
    parent_session_id: primary.parent_session_id,
    agent_id: primary.agent_id,
    primary_transcript_id: primary.id,
    transcript_count: 1 + diverged.length,
    ...pickFigures(primary),
  };
  await transaction
    .insert(sessions)
    .values(row)
    .onConflictDoUpdate({
      target: [sessions.workspace_id, sessions.session_id],
      set: { ...row, updated_at: sql`now()` },
    });
}

const FIGURE_NAMES = Object.keys(transcriptFigures()) as (keyof ReturnType<typeof transcriptFigures>)[];

type Figures = Pick<typeof transcripts.$inferSelect, (typeof FIGURE_NAMES)[number]>;

function pickFigures(row: typeof transcripts.$inferSelect): Figures {
  return Object.fromEntries(FIGURE_NAMES.map((name) => [name, row[name]])) as Figures;
}
