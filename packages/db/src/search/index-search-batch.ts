import { createRowCopier } from '../copy/row-copier.ts';
import type { Database, DatabaseClient, DatabasePool } from '../database/database.ts';
import { preferBulkIndexing } from '../database/planner.ts';
import { sql } from '../drizzle.cjs';
import { searchDocuments, searchIndexState } from '../schema/search.ts';
import { transcripts } from '../schema/transcripts.ts';
import {
  MAX_BATCH_BLOCKS,
  MAX_BATCH_LINE_BYTES,
  type ReadBlock,
  readSearchBlocks,
  type TakenSession,
} from './read-search-blocks.ts';
import { toSearchDocument } from './search-document.ts';

export interface SearchBatch {
  workspaceId: string;
  /** Sessions whose indexing this batch completed. */
  sessions: number;
  documents: number;
}

/** Maximum number of sessions in a batch, because parsing them again waits for its end. */
const MAX_BATCH_SESSIONS = 100;
/** Number of sessions locked first, which usually fill a batch. */
const FIRST_TAKEN_SESSIONS = 10;
const MAX_PAUSE_SECONDS = 3600;
/** The number of the longest waiting sessions that are read to find workspaces with pending sessions. */
const MAX_CANDIDATES = 1000;

interface IndexOptions {
  signal?: AbortSignal | undefined;
  /**
   * Workspaces to try first. Those without pending sessions are removed, others that are found are added. Defaults to
   * none.
   */
  workspaces?: Set<string>;
  /**
   * True to look for other workspaces if these have nothing pending, which queries all nodes of a cluster. Default
   * true.
   */
  looksEverywhere?: boolean;
}

/**
 * Indexes the next blocks of a workspace's pending sessions that no other worker has locked, longest waiting first;
 * returns undefined if nothing is pending. One short transaction. A crash leaves the batch undone, and the next call
 * does it. If it fails, each of its sessions is retried separately, after growing pauses if it fails again; the error
 * is thrown.
 */
export async function indexSearchBatch(
  pool: DatabasePool,
  { signal, workspaces = new Set(), looksEverywhere = true }: IndexOptions = {},
): Promise<SearchBatch | undefined> {
  const batch = await indexFirstBatch(pool, workspaces, signal);
  if (batch !== undefined || !looksEverywhere) return batch;
  for (const workspaceId of await listWaitingWorkspaces(pool.database)) workspaces.add(workspaceId);
  return await indexFirstBatch(pool, workspaces, signal);
}

/**
 * Workspaces take turns. One with pending sessions moves to the end as soon as some are locked, because another batch
 * may index others at the same time.
 */
async function indexFirstBatch(
  pool: DatabasePool,
  workspaces: Set<string>,
  signal: AbortSignal | undefined,
): Promise<SearchBatch | undefined> {
  for (const workspaceId of [...workspaces]) {
    const putBack = () => void workspaces.add(workspaceId);
    // Before the query, so that a workspace added during it stays.
    workspaces.delete(workspaceId);
    try {
      const batch = await indexWorkspaceBatch(pool, workspaceId, { signal, onTaken: putBack });
      if (batch === undefined) continue;
      // A concurrent batch may have found nothing left to lock, and have removed the workspace.
      putBack();
      return batch;
    } catch (error) {
      putBack();
      throw error;
    }
  }
  return undefined;
}

/** Longest waiting first. Takes no locks, as distributed queries cannot. */
async function listWaitingWorkspaces(database: Database): Promise<string[]> {
  const { rows } = await database.execute<{ workspace_id: string }>(sql`
    SELECT workspace_id FROM (
      SELECT workspace_id, next_attempt_at FROM ${searchIndexState}
      WHERE indexed_at IS NULL AND next_attempt_at <= now() ORDER BY next_attempt_at LIMIT ${MAX_CANDIDATES}
    ) AS candidate
    GROUP BY workspace_id ORDER BY min(next_attempt_at)`);
  return rows.map(({ workspace_id }) => workspace_id);
}

async function indexWorkspaceBatch(
  pool: DatabasePool,
  workspaceId: string,
  { onTaken, ...options }: { signal: AbortSignal | undefined; onTaken: () => void },
): Promise<SearchBatch | undefined> {
  let taken: TakenSession[] = [];
  try {
    return await pool.withTransaction(async (transaction, client) => {
      await preferBulkIndexing(transaction);
      taken = await takeSessions(transaction, workspaceId);
      if (taken.length === 0) return undefined;
      onTaken();
      return await indexBlocks(transaction, client, workspaceId, taken);
    }, options);
  } catch (error) {
    if (taken.length > 0 && !options.signal?.aborted) await postpone(pool.database, workspaceId, taken);
    throw error;
  }
}

/**
 * Locks at least one session, and hardly more than fill a batch, because other batches cannot take what is locked here.
 * Replacing a session's rows updates its state row at the end of the transaction, so while that is locked here, its
 * rows are those that it refers to. A session that failed before is processed alone.
 */
async function takeSessions(transaction: Database, workspaceId: string): Promise<TakenSession[]> {
  const taken: TakenSession[] = [];
  let blocks = 0;
  for (const limit of [FIRST_TAKEN_SESSIONS, MAX_BATCH_SESSIONS - FIRST_TAKEN_SESSIONS]) {
    const takenIds = sql.param(taken.map(({ session_id }) => session_id));
    const { rows } = await transaction.execute<TakenSession>(sql`
      SELECT session_id, row_set_id, after_message_id, after_block_order, failure_count
      FROM ${searchIndexState}
      WHERE workspace_id = ${workspaceId} AND indexed_at IS NULL AND next_attempt_at <= now()
        AND session_id <> ALL(${takenIds}::text[])
      ORDER BY next_attempt_at LIMIT ${limit} FOR UPDATE SKIP LOCKED`);
    const [first] = rows;
    if (taken.length === 0 && first !== undefined && first.failure_count > 0) return [first];
    const blocksOf = await countBlocks(transaction, workspaceId, rows);
    for (const session of rows) {
      if (session.failure_count > 0) continue;
      taken.push(session);
      blocks += blocksOf.get(session.row_set_id) ?? 0;
      if (blocks >= MAX_BATCH_BLOCKS) return taken;
    }
    if (rows.length < limit) break;
  }
  return taken;
}

async function countBlocks(
  transaction: Database,
  workspaceId: string,
  sessions: readonly TakenSession[],
): Promise<Map<string, number>> {
  const rowSetIds = sql.param(sessions.map(({ row_set_id }) => row_set_id));
  const { rows } = await transaction.execute<{ row_set_id: string; blocks: number }>(sql`
    SELECT row_set_id, content_block_count AS blocks FROM ${transcripts}
    WHERE workspace_id = ${workspaceId} AND row_set_id = ANY(${rowSetIds}::text[])`);
  return new Map(rows.map(({ row_set_id, blocks }) => [row_set_id, blocks]));
}

async function indexBlocks(
  transaction: Database,
  client: DatabaseClient,
  workspaceId: string,
  sessions: readonly TakenSession[],
): Promise<SearchBatch> {
  const copier = createRowCopier(client);
  const addDocument = copier.openTable(searchDocuments);
  let [blocks, documents] = [0, 0];
  let last: Pick<ReadBlock, 'session_id' | 'message_id' | 'block_order' | 'line_bytes'> | undefined;
  for await (const block of readSearchBlocks(transaction, workspaceId, sessions)) {
    blocks += 1;
    const { session_id, message_id, block_order, line_bytes } = block;
    last = { session_id, message_id, block_order, line_bytes };
    const document = toSearchDocument({ workspaceId, sessionId: session_id }, block);
    if (document === undefined) continue;
    addDocument(document);
    documents += 1;
    await copier.sendFull();
  }
  await copier.sendAll();
  const isCut = last !== undefined && (blocks === MAX_BATCH_BLOCKS || last.line_bytes >= MAX_BATCH_LINE_BYTES);
  const doneIds = sessions
    .slice(0, isCut ? sessions.findIndex(({ session_id }) => session_id === last?.session_id) : sessions.length)
    .map(({ session_id }) => session_id);
  await transaction.execute(sql`
    UPDATE ${searchIndexState} SET failure_count = 0, indexed_at = now()
    WHERE ${isAnyOf(workspaceId, doneIds)}`);
  if (isCut && last !== undefined) {
    await transaction.execute(sql`
      UPDATE ${searchIndexState} SET
        failure_count = 0, after_message_id = ${last.message_id}, after_block_order = ${last.block_order}
      WHERE ${isAnyOf(workspaceId, [last.session_id])}`);
  }
  return { workspaceId, sessions: doneIds.length, documents };
}

/** Delays the sessions' next attempts by 2, 4, 8 … seconds. */
async function postpone(database: Database, workspaceId: string, sessions: readonly TakenSession[]): Promise<void> {
  const ids = sessions.map(({ session_id }) => session_id);
  await database.execute(sql`
    UPDATE ${searchIndexState} SET
      failure_count = failure_count + 1,
      next_attempt_at = to_timestamp(
        extract(epoch FROM now())::float8 + least(power(2, least(failure_count + 1, 30)), ${MAX_PAUSE_SECONDS}::int))
    WHERE ${isAnyOf(workspaceId, ids)} AND indexed_at IS NULL`);
}

const isAnyOf = (workspaceId: string, sessionIds: readonly string[]) =>
  sql`workspace_id = ${workspaceId} AND session_id = ANY(${sql.param([...sessionIds])}::text[])`;
