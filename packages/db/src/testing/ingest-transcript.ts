import { createHash } from 'node:crypto';
import { identifyTranscript, streamTranscript } from '@recount/core';
import type { DatabasePool } from '../database.ts';
import { completeTranscripts } from '../writes/complete-transcripts.ts';
import { insertTranscripts } from '../writes/insert-transcripts.ts';
import { settleSessions } from '../writes/settle-sessions.ts';
import { createTranscriptCopier } from '../writes/transcript-copier.ts';
import { createTranscriptWriter } from '../writes/transcript-writer.ts';

/** Ingests a transcript as a worker does, but from memory, and without looking at other versions of its session. */
export async function ingestTranscript(
  pool: DatabasePool,
  key: { workspaceId: string; transcriptId: string },
  { path, bytes }: { path: string; bytes: Uint8Array },
): Promise<void> {
  const identity = identifyTranscript({ path, head: bytes });
  const sessionId = identity.sessionId ?? path;
  await pool.withTransaction(async (transaction, client) => {
    const row = {
      id: key.transcriptId,
      session_id: sessionId,
      agent: 'claude-code',
      format: 'claude-code' as const,
      path,
      is_subagent: identity.isSubagent,
      parent_session_id: identity.parentSessionId ?? null,
      agent_id: identity.agentId ?? null,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      size_bytes: bytes.length,
      object_key: `${key.workspaceId}/${key.transcriptId}`,
    };
    await insertTranscripts(transaction, key.workspaceId, [row]);
    const batches = streamTranscript(sessionId, bytes);
    const counts = { contentBlocks: 0, errors: 0, warnings: 0, issuesByCode: {} as Record<string, number> };
    const firstNumbers = { entry: 0, call: 0, event: 0, issue: 0 };
    const rowSetId = key.transcriptId;
    const context = { workspaceId: key.workspaceId, rowSetId, agent: 'claude-code', priceVersion: 'test' };
    const copier = createTranscriptCopier(client);
    const writer = createTranscriptWriter(transaction, copier, context, firstNumbers);
    let next = await batches.next();
    for (; !next.done; next = await batches.next()) {
      await writer.write(next.value);
      counts.contentBlocks += next.value.contentBlocks.length;
      for (const { code, severity, count } of next.value.issues) {
        if (severity === 'error') counts.errors++;
        else counts.warnings++;
        counts.issuesByCode[code] = (counts.issuesByCode[code] ?? 0) + count;
      }
    }
    await writer.finish();
    await copier.sendAll();
    const completed = { transcriptId: key.transcriptId, rowSetId, summary: next.value, counts, attemptCount: 1 };
    await completeTranscripts(transaction, key.workspaceId, [completed], { parser: 'test', prices: 'test' });
    await settleSessions(transaction, {
      workspaceId: key.workspaceId,
      sessionIds: [sessionId],
      written: [{ rowSetId, firstNumbers }],
      removedRowSetIds: [],
    });
  });
}
