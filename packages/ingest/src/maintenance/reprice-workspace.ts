import type { PriceTable } from '@recount/core';
import {
  findTranscript,
  listOutdatedPrices,
  lockSession,
  lockWorkspaceShared,
  type OutdatedTranscript,
  repriceTranscript,
  waitForWriters,
} from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';

export interface RepriceProgress {
  transcriptId: string;
  sessionId: string;
}

interface RepriceOptions {
  /** Names, which may end in `*`: only transcripts that use one of them. Empty, or without it, all. */
  models?: readonly string[] | undefined;
  signal?: AbortSignal | undefined;
}

type Deps = Pick<IngestDependencies, 'database'>;

const PAGE_SIZE = 500;

/**
 * Prices again the ingested transcripts of a workspace whose rates have another version than the table, and yields each
 * one when it is done. Each is a separate transaction, so that it can be interrupted and repeated. First waits for
 * running ingestions, which may have started with the old rates. Ends early if the workspace is deleted.
 */
export async function* repriceWorkspace(
  deps: Deps,
  workspaceId: string,
  prices: PriceTable,
  { models = [], signal }: RepriceOptions = {},
): AsyncGenerator<RepriceProgress> {
  await waitForWriters(deps.database.database, signal);
  for (let doneCount = 1; doneCount > 0; ) {
    doneCount = 0;
    for await (const transcript of listOutdated(deps, workspaceId, prices, models)) {
      signal?.throwIfAborted();
      if (!(await reprice(deps, workspaceId, transcript, prices))) continue;
      doneCount += 1;
      yield { transcriptId: transcript.id, sessionId: transcript.session_id };
    }
  }
}

async function* listOutdated(
  { database }: Deps,
  workspaceId: string,
  { version: priceVersion }: PriceTable,
  models: readonly string[],
): AsyncGenerator<OutdatedTranscript> {
  let afterId: string | undefined;
  for (;;) {
    const outdated = { workspaceId, priceVersion, models };
    const page = await listOutdatedPrices(database.database, outdated, { afterId, limit: PAGE_SIZE });
    yield* page;
    afterId = page.at(-1)?.id;
    if (page.length < PAGE_SIZE) return;
  }
}

/** Returns false if there is nothing to do (any more). */
async function reprice(
  { database }: Deps,
  workspaceId: string,
  { session_id: sessionId, id: transcriptId }: OutdatedTranscript,
  prices: PriceTable,
): Promise<boolean> {
  return await database.withTransaction(async (transaction) => {
    if ((await lockWorkspaceShared(transaction, workspaceId)) === undefined) return false;
    await lockSession(transaction, workspaceId, sessionId);
    const transcript = await findTranscript(transaction, workspaceId, transcriptId);
    if (transcript?.row_set_id == null || transcript.price_version === prices.version) return false;
    await repriceTranscript(transaction, { workspaceId, sessionId, rowSetId: transcript.row_set_id }, prices);
    return true;
  });
}
