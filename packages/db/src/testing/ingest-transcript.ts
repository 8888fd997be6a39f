import { createHash } from 'node:crypto';
import { identifyTranscript, streamTranscript, type TranscriptBatch } from '@recount/core';
import type { DatabasePool } from '../database/database.ts';
import { createSearchWriter } from '../search/segment-writer.ts';
import { settleSessions } from '../sessions/settle-sessions.ts';
import { insertTranscripts } from '../transcripts/insert-transcripts.ts';
import { toNewRowSet } from '../transcripts/transcript-rows.ts';
import { completeTranscripts } from '../transcripts/transcript-status.ts';
import { createTranscriptCopier, TranscriptWriter } from '../transcripts/transcript-writer.ts';

/**
 * Ingests a transcript, with all rows derived by SQL; from memory, and without comparing other versions of its session.
 * `onBatch` may change what is written.
 */
export async function ingestTranscript(
  pool: DatabasePool,
  key: { workspaceId: string; transcriptId: string },
  { path, bytes }: { path: string; bytes: Uint8Array },
  onBatch: (batch: TranscriptBatch) => void = () => undefined,
): Promise<void> {
  const identity = identifyTranscript({ path, head: bytes });
  const sessionId = identity.sessionId ?? path;
  await pool.withTransaction(async (transaction, client) => {
    const row = {
      id: key.transcriptId,
      session_id: sessionId,
      agent: 'claude-code',
      format: 'claude-code',
      path,
      is_subagent: identity.isSubagent,
      parent_session_id: identity.parentSessionId ?? null,
      agent_id: identity.agentId ?? null,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      size_bytes: bytes.length,
      object_key: `${key.workspaceId}/${key.transcriptId}`,
    };
    await insertTranscripts(transaction, key.workspaceId, [row]);
    const rowSet = toNewRowSet({ workspaceId: key.workspaceId, rowSetId: key.transcriptId });
    const copier = createTranscriptCopier(client);
    const search = createSearchWriter(copier, key.workspaceId);
    const writer = new TranscriptWriter(transaction, copier, rowSet, { agent: 'claude-code', priceVersion: 'test' });
    for await (const batch of streamTranscript(sessionId, bytes)) {
      onBatch(batch);
      search.addBatch(rowSet.rowSetId, batch);
      await writer.write(batch);
    }
    search.endSegment();
    await copier.sendAll();
    const written = await writer.finish();
    const completed = { transcriptId: key.transcriptId, sentRepository: null, ...written, attemptCount: 1 };
    await completeTranscripts(transaction, key.workspaceId, [completed], { parser: 'test', prices: 'test' });
    await settleSessions(transaction, {
      workspaceId: key.workspaceId,
      sessionIds: [sessionId],
      written: [written.rowSet],
      removedRowSetIds: [],
    });
  });
}
