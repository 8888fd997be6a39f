import { createRowCopier } from '../copy/row-copier.ts';
import type { Database, DatabaseClient, DatabasePool } from '../database/database.ts';
import { tryLockSessions } from '../database/lock-sessions.ts';
import { lockWorkspace } from '../database/locks.ts';
import { preferIndexes } from '../database/planner.ts';
import { sql } from '../drizzle.cjs';
import { searchWaiting } from '../schema/search.ts';
import { transcripts } from '../schema/transcripts.ts';
import { markRemovedFromSearch } from '../transcripts/delete-rows.ts';
import { MAX_SEGMENT_DOCUMENTS } from './postings.ts';
import { readBlocks } from './read-blocks.ts';
import { toLatestMs } from './segment-documents.ts';
import { addText, openSegmentTables, SegmentBuilder } from './segment-writer.ts';

export interface SearchBatch {
  workspaceId: string;
  rowSets: number;
  documents: number;
}

/** Maximum number of row sets in a batch, whose sessions are locked until its end. */
const MAX_BATCH_ROW_SETS = 100;
const MAX_PAUSE_SECONDS = 3600;
/** The number of the longest waiting row sets that are read to find their workspaces. */
const MAX_CANDIDATES = 1000;

/**
 * Makes segments of row sets that wait for it, longest waiting first, in one transaction; returns undefined if nothing
 * can be done now. Row sets of sessions that another process holds are left for later. If it fails, each of its row
 * sets is retried separately, after growing pauses if it fails again; the error is thrown.
 */
export async function indexSearchBatch(
  pool: DatabasePool,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<SearchBatch | undefined> {
  for (const workspaceId of await listWaitingWorkspaces(pool.database)) {
    const batch = await indexWorkspaceBatch(pool, workspaceId, signal);
    if (batch !== undefined) return batch;
  }
  return undefined;
}

/** Longest waiting first. Takes no locks, as distributed queries cannot. */
async function listWaitingWorkspaces(database: Database): Promise<string[]> {
  const { rows } = await database.execute<{ workspace_id: string }>(sql`
    SELECT workspace_id FROM (
      SELECT workspace_id, next_attempt_at FROM ${searchWaiting}
      WHERE next_attempt_at <= now() ORDER BY next_attempt_at LIMIT ${MAX_CANDIDATES}
    ) AS candidate
    GROUP BY workspace_id ORDER BY min(next_attempt_at)`);
  return rows.map(({ workspace_id }) => workspace_id);
}

interface TakenRowSet {
  row_set_id: string;
  session_id: string;
  failure_count: number;
  [column: string]: unknown;
}

async function indexWorkspaceBatch(
  pool: DatabasePool,
  workspaceId: string,
  signal: AbortSignal | undefined,
): Promise<SearchBatch | undefined> {
  let rowSetIds: string[] = [];
  try {
    return await pool.withTransaction(
      async (transaction, client) => {
        await lockWorkspace(transaction, workspaceId, 'shared');
        await preferIndexes(transaction);
        rowSetIds = await takeRowSets(transaction, workspaceId);
        if (rowSetIds.length === 0) return undefined;
        const documents = await indexRowSets(transaction, client, workspaceId, rowSetIds);
        return { workspaceId, rowSets: rowSetIds.length, documents };
      },
      { signal },
    );
  } catch (error) {
    if (rowSetIds.length > 0 && !signal?.aborted) await postpone(pool.database, workspaceId, rowSetIds);
    throw error;
  }
}

/** At least one row set, and hardly more than fill a segment. One that failed before is processed alone. */
async function takeRowSets(transaction: Database, workspaceId: string): Promise<string[]> {
  const { rows } = await transaction.execute<TakenRowSet>(sql`
    SELECT row_set_id, session_id, failure_count FROM ${searchWaiting}
    WHERE workspace_id = ${workspaceId} AND next_attempt_at <= now()
    ORDER BY next_attempt_at, row_set_id LIMIT ${MAX_BATCH_ROW_SETS} FOR UPDATE SKIP LOCKED`);
  const locked = await tryLockSessions(
    transaction,
    workspaceId,
    rows.map(({ session_id }) => session_id),
  );
  const free = rows.filter(({ session_id }) => locked.has(session_id));
  const [first] = free;
  if (first === undefined) return [];
  if (first.failure_count > 0) return [first.row_set_id];
  const ids = free.filter(({ failure_count }) => failure_count === 0).map(({ row_set_id }) => row_set_id);
  const blocksOf = await countBlocks(transaction, workspaceId, ids);
  let blocks = 0;
  const end = ids.findIndex((id) => {
    blocks += blocksOf.get(id) ?? 0;
    return blocks >= MAX_SEGMENT_DOCUMENTS;
  });
  return end < 0 ? ids : ids.slice(0, end + 1);
}

async function countBlocks(
  transaction: Database,
  workspaceId: string,
  rowSetIds: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await transaction.execute<{ row_set_id: string; blocks: number }>(sql`
    SELECT row_set_id, content_block_count AS blocks FROM ${transcripts}
    WHERE workspace_id = ${workspaceId} AND row_set_id = ANY(${sql.param([...rowSetIds])}::text[])`);
  return new Map(rows.map(({ row_set_id, blocks }) => [row_set_id, blocks]));
}

async function indexRowSets(
  transaction: Database,
  client: DatabaseClient,
  workspaceId: string,
  rowSetIds: readonly string[],
): Promise<number> {
  await markRemovedFromSearch(transaction, workspaceId, rowSetIds);
  const copier = createRowCopier(client);
  const addSegment = openSegmentTables(copier, workspaceId);
  const builder = new SegmentBuilder();
  let documents = 0;
  const endSegment = (): void => {
    documents += builder.documentCount;
    if (builder.documentCount > 0) addSegment(builder.take());
  };
  for await (const block of readBlocks(transaction, workspaceId, rowSetIds)) {
    const { row_set_id: rowSetId, message_id: messageId, block_order: blockOrder, time_ms: timeMs } = block;
    // A later line may give the message an earlier time, or the first one.
    const latestMs = timeMs ?? toLatestMs(messageId);
    addText({ rowSetId, messageId, blockOrder, latestMs }, block, block.is_prompt, (...document) =>
      builder.add(...document),
    );
    // The blocks come through a cursor on this connection, so COPY waits for their end.
    if (builder.isFull) endSegment();
  }
  endSegment();
  await copier.sendAll();
  await transaction.execute(sql`DELETE FROM ${searchWaiting} WHERE ${isAnyOf(workspaceId, rowSetIds)}`);
  return documents;
}

/** Delays the row sets' next attempts by 2, 4, 8 … seconds. */
async function postpone(database: Database, workspaceId: string, rowSetIds: readonly string[]): Promise<void> {
  await database.execute(sql`
    UPDATE ${searchWaiting} SET
      failure_count = failure_count + 1,
      next_attempt_at = to_timestamp(
        extract(epoch FROM now())::float8 + least(power(2, least(failure_count + 1, 30)), ${MAX_PAUSE_SECONDS}::int))
    WHERE ${isAnyOf(workspaceId, rowSetIds)}`);
}

const isAnyOf = (workspaceId: string, rowSetIds: readonly string[]) =>
  sql`workspace_id = ${workspaceId} AND row_set_id = ANY(${sql.param([...rowSetIds])}::text[])`;
