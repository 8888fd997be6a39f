import type { PriceTable } from '@recount/core';
import { findTranscript, listTranscripts, lockSession, repriceTranscript } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';

export interface RepriceProgress {
  transcriptId: string;
  sessionId: string;
}

const PAGE_SIZE = 500;

/**
 * Prices all ingested transcripts of a workspace anew whose rates are of another version than the table's, and yields
 * each one done. Each is a transaction of its own, so that it can be interrupted and run again.
 */
export async function* repriceWorkspace(
  { database }: Pick<IngestDependencies, 'database'>,
  workspaceId: string,
  prices: PriceTable,
  signal?: AbortSignal,
): AsyncGenerator<RepriceProgress> {
  let afterId: string | undefined;
  for (;;) {
    const page = await listTranscripts(
      database.database,
      workspaceId,
      { hasRows: true },
      { limit: PAGE_SIZE, afterId },
    );
    for (const { id, session_id: sessionId, price_version } of page) {
      signal?.throwIfAborted();
      afterId = id;
      if (price_version === prices.version) continue;
      const isDone = await database.withTransaction(async (transaction) => {
        await lockSession(transaction, workspaceId, sessionId);
        const transcript = await findTranscript(transaction, workspaceId, id);
        if (transcript?.row_set_id == null || transcript.price_version === prices.version) return false;
        await repriceTranscript(transaction, { workspaceId, sessionId, rowSetId: transcript.row_set_id }, prices);
        return true;
      });
      if (isDone) yield { transcriptId: id, sessionId };
    }
    if (page.length < PAGE_SIZE) return;
  }
}
