import type { PriceTable } from '@recount/core';
import {
  type Actor,
  addAuditEntry,
  findTranscript,
  listTranscripts,
  lockSession,
  lockWorkspaceShared,
  repriceTranscript,
  type TranscriptRow,
  waitForWriters,
} from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';

export interface RepriceProgress {
  transcriptId: string;
  sessionId: string;
}

const PAGE_SIZE = 500;

/**
 * Prices again all ingested transcripts of a workspace whose rates have another version than the table, and yields each
 * one when it is done. Each is a separate transaction, so that it can be interrupted and repeated. First waits for
 * running ingestions, which may have started with the old rates. Ends early if the workspace is deleted.
 */
export async function* repriceWorkspace(
  deps: Pick<IngestDependencies, 'database'>,
  workspaceId: string,
  prices: PriceTable,
  signal?: AbortSignal,
  actor: Actor = 'system',
): AsyncGenerator<RepriceProgress> {
  // One audit entry for all, written with the first of them.
  let isFirst = true;
  await waitForWriters(deps.database.database, signal);
  for (let doneCount = 1; doneCount > 0; ) {
    doneCount = 0;
    for await (const transcript of listOutdated(deps, workspaceId, prices)) {
      signal?.throwIfAborted();
      if (!(await reprice(deps, transcript, prices, isFirst ? actor : undefined))) continue;
      isFirst = false;
      doneCount += 1;
      yield { transcriptId: transcript.id, sessionId: transcript.session_id };
    }
  }
}

async function* listOutdated(
  { database }: Pick<IngestDependencies, 'database'>,
  workspaceId: string,
  prices: PriceTable,
): AsyncGenerator<TranscriptRow> {
  let afterId: string | undefined;
  for (;;) {
    const page = await listTranscripts(
      database.database,
      workspaceId,
      { hasRows: true },
      { limit: PAGE_SIZE, afterId },
    );
    yield* page.filter(({ price_version }) => price_version !== prices.version);
    afterId = page.at(-1)?.id;
    if (page.length < PAGE_SIZE) return;
  }
}

/** Returns false if there is nothing to do (any more). */
async function reprice(
  { database }: Pick<IngestDependencies, 'database'>,
  { workspace_id: workspaceId, session_id: sessionId, id: transcriptId }: TranscriptRow,
  prices: PriceTable,
  actor: Actor | undefined,
): Promise<boolean> {
  return await database.withTransaction(async (transaction) => {
    if ((await lockWorkspaceShared(transaction, workspaceId)) === undefined) return false;
    await lockSession(transaction, workspaceId, sessionId);
    const transcript = await findTranscript(transaction, workspaceId, transcriptId);
    if (transcript?.row_set_id == null || transcript.price_version === prices.version) return false;
    await repriceTranscript(transaction, { workspaceId, sessionId, rowSetId: transcript.row_set_id }, prices);
    if (actor !== undefined) {
      const details = { price_version: prices.version };
      await addAuditEntry(transaction, { workspaceId, actor, action: 'usage.reprice', subjects: [], details });
    }
    return true;
  });
}
