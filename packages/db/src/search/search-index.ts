import { createRowCopier } from '../copy/row-copier.ts';
import type { Database, DatabaseClient, DatabasePool } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { contentBlocks, transcriptMessages } from '../messages/schema.ts';
import { preferBulkIndexing, toHiddenWorkspace } from '../planner.ts';
import { sessions, transcripts } from '../transcripts/schema.ts';
import type { RowSet } from '../transcripts/transcript-rows.ts';
import type { UsageChange } from '../usage/replaced-usage.ts';
import { sessionEvents } from '../usage/schema.ts';
import { searchDocuments, searchIndexState } from './schema.ts';
import { MAX_DOCUMENT_LENGTH, type SearchableBlock, toSearchDocument } from './search-document.ts';

/**
 * Deletes the search documents of sessions whose rows are gone or were replaced, and has the sessions indexed again.
 * Those of a version that merely grew stay, as its rows are the beginning of the new ones, whether these were written again
 * or added to them. After the sessions' rows were
 * refreshed; the caller holds the sessions' locks. Waits for a batch of indexing under way, and no longer. `storedIds`: the
 * sessions that may be indexed already; default all.
 */
export async function settleSearchIndex(
  transaction: Database,
  change: UsageChange,
  storedIds: ReadonlySet<string> = new Set(change.sessionIds),
): Promise<void> {
  const { workspaceId, sessionIds } = change;
  const toIds = (rows: readonly RowSet[]) => sql`${sql.param(rows.map(({ rowSetId }) => rowSetId))}::text[]`;
  const writtenIds = toIds(change.written);
  const rewrittenIds = toIds(change.written.filter(({ kept }) => kept === undefined));
  const workspace = toHiddenWorkspace(workspaceId);
  const ofSessions = (ids: readonly string[]) =>
    sql`workspace_id = ${workspace} AND session_id = ANY(${sql.param([...ids])}::text[])`;
  const primary = sql`
    SELECT s.workspace_id, s.session_id, t.row_set_id, t.parser_version FROM ${sessions} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
    WHERE s.workspace_id = ${workspace} AND s.session_id = ANY(${sql.param([...sessionIds])}::text[])`;
  const indexedIds = sessionIds.filter((id) => storedIds.has(id));
  if (indexedIds.length > 0) {
    const { rows: outdated } = await transaction.execute<{ session_id: string }>(sql`
      DELETE FROM ${searchIndexState} AS state
      WHERE ${ofSessions(indexedIds)} AND NOT EXISTS (
        SELECT FROM (${primary}) AS p
        WHERE p.session_id = state.session_id AND p.parser_version = state.parser_version AND (
          (p.row_set_id = state.row_set_id AND p.row_set_id <> ALL(${rewrittenIds}))
          OR (p.row_set_id = ANY(${rewrittenIds}) AND state.row_set_id = ANY(${sql.param([...change.removedRowSetIds])}::text[]))
        ))
      RETURNING session_id`);
    const outdatedIds = outdated.map(({ session_id }) => session_id);
    if (outdatedIds.length > 0) {
      await transaction.execute(sql`DELETE FROM ${searchDocuments} WHERE ${ofSessions(outdatedIds)}`);
    }
  }
  await transaction.execute(sql`
    INSERT INTO ${searchIndexState} AS state (workspace_id, session_id, row_set_id, parser_version)
    SELECT p.workspace_id, p.session_id, p.row_set_id, p.parser_version FROM (${primary}) AS p ORDER BY p.session_id
    ON CONFLICT (workspace_id, session_id) DO UPDATE
    SET row_set_id = excluded.row_set_id, after_message_id = '', after_block_order = -1, failure_count = 0,
      waiting_since = excluded.waiting_since, next_attempt_at = excluded.next_attempt_at, indexed_at = NULL
    WHERE state.row_set_id <> excluded.row_set_id OR state.row_set_id = ANY(${writtenIds})`);
}

export interface SearchBatch {
  workspaceId: string;
  /** Sessions that are indexed as a whole now. */
  sessions: number;
  documents: number;
}

/** Sessions of a batch at most: their re-parse waits for its end. */
const MAX_BATCH_SESSIONS = 100;
/** Sessions that are taken at first: most often they fill a batch. */
const FIRST_TAKEN_SESSIONS = 10;
/** Blocks of a batch, and bytes of the lines that hold them. */
const MAX_BATCH_BLOCKS = 1000;
const MAX_BATCH_LINE_BYTES = 4 * 1024 * 1024;
/**
 * Blocks of it that are in memory at a time. Each is garbage once its document is encoded; read all at once, they would outlive
 * two collections of the young generation, and stay until the next full one.
 */
const FETCHED_BLOCKS = 50;
const MAX_PAUSE_SECONDS = 3600;
/** How many of those that have waited longest are looked at to find workspaces with something to do. */
const MAX_CANDIDATES = 1000;

interface IndexOptions {
  signal?: AbortSignal | undefined;
  /** Workspaces to look at first. Those in which nothing waits are taken out, those that are found put in. Default: none. */
  workspaces?: Set<string>;
  /** Whether to look for other workspaces if nothing waits in these, which asks all nodes of a cluster. Default true. */
  looksEverywhere?: boolean;
}

/**
 * Indexes the next blocks of the sessions of a workspace that wait longest and that no other worker has; undefined if none
 * waits. One short transaction: a crash leaves the batch undone, and the next call does it. Where it fails, each of its sessions
 * is tried by itself later, and one that fails again waits for ever longer; the failure is thrown.
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
 * Each workspace has its turn: one in which sessions wait is put back behind the others, as soon as some of them are taken, as
 * another batch may index others of them meanwhile.
 */
async function indexFirstBatch(
  pool: DatabasePool,
  workspaces: Set<string>,
  signal: AbortSignal | undefined,
): Promise<SearchBatch | undefined> {
  for (const workspaceId of [...workspaces]) {
    const putBack = () => void workspaces.add(workspaceId);
    // Before the look, so that one that is put in during it stays.
    workspaces.delete(workspaceId);
    try {
      const batch = await indexWorkspaceBatch(pool, workspaceId, { signal, onTaken: putBack });
      if (batch === undefined) continue;
      // The other batch may have found nothing left to take, and have taken it out.
      putBack();
      return batch;
    } catch (error) {
      putBack();
      throw error;
    }
  }
  return undefined;
}

/** Without locks, as no distributed query can have them; longest waiting first. */
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

type TakenSession = Pick<
  typeof searchIndexState.$inferSelect,
  'session_id' | 'row_set_id' | 'after_message_id' | 'after_block_order' | 'failure_count'
> & { [column: string]: unknown };

/**
 * As many sessions as fill a batch, one at least, and hardly any more: those that are held here no other batch can take. Whoever
 * replaces the rows of a session changes the state's row at the end of its transaction: while it is held here, the rows are
 * those that it speaks of. A session that failed before is taken by itself.
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
  for await (const block of readBlocks(transaction, workspaceId, sessions)) {
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

type ReadBlock = SearchableBlock & {
  session_id: string;
  /** Of this block's line and those of the blocks before it. */
  line_bytes: number;
};

/** The next blocks that have no document yet, session by session: in one that grew, only those that came with it. */
async function* readBlocks(
  transaction: Database,
  workspaceId: string,
  sessions: readonly TakenSession[],
): AsyncGenerator<ReadBlock> {
  await transaction.execute(sql`
    DECLARE next_blocks NO SCROLL CURSOR FOR ${selectNextBlocks(workspaceId, sessions)}`);
  for (;;) {
    const { rows } = await transaction.execute<ReadBlock & { [column: string]: unknown }>(
      sql.raw(`FETCH FORWARD ${FETCHED_BLOCKS} FROM next_blocks`),
    );
    yield* rows;
    if (rows.length < FETCHED_BLOCKS) return;
  }
}

function selectNextBlocks(workspaceId: string, sessions: readonly TakenSession[]): SQL {
  const toArray = <Value>(toValue: (session: TakenSession) => Value) => sql.param(sessions.map(toValue));
  return sql`
    WITH taken AS MATERIALIZED (
      SELECT * FROM unnest(
        ${toArray(({ session_id }) => session_id)}::text[], ${toArray(({ row_set_id }) => row_set_id)}::text[],
        ${toArray(({ after_message_id }) => after_message_id)}::text[],
        ${toArray(({ after_block_order }) => after_block_order)}::int[]
      ) WITH ORDINALITY AS t (session_id, row_set_id, after_message_id, after_block_order, number)
    )
    SELECT session_id, message_id, block_order, block_type, tool_name, tool_input, metadata, line_number, message_type,
      left(content_text, ${MAX_DOCUMENT_LENGTH + 1}) AS content_text,
      left(thinking_text, ${MAX_DOCUMENT_LENGTH + 1}) AS thinking_text,
      left(result_text, ${MAX_DOCUMENT_LENGTH + 1}) AS result_text,
      byte_offset::float8 AS byte_offset, to_char("timestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "timestamp",
      provider_message_id, uuid, is_subagent, is_compact_summary, line_bytes::float8 AS line_bytes,
      (row_set_id, message_line_number) IN (
        SELECT e.row_set_id, e.line_number FROM taken
        JOIN ${sessionEvents} AS e ON e.workspace_id = ${workspaceId} AND e.row_set_id = taken.row_set_id
        WHERE e.kind = 'prompt'
      ) AS is_prompt
    FROM (
      SELECT *, sum(byte_length) OVER (ORDER BY number, message_id, block_order) AS line_bytes
      FROM (
        SELECT taken.session_id, taken.number, b.*,
          m.message_type, m."timestamp", m.provider_message_id, m.uuid, m.line_number AS message_line_number,
          m.is_sidechain OR t.is_subagent AS is_subagent, m.metadata ? 'isCompactSummary' AS is_compact_summary
        FROM taken
        JOIN LATERAL (
          SELECT is_subagent FROM ${transcripts} AS t
          WHERE t.workspace_id = ${workspaceId} AND t.row_set_id = taken.row_set_id OFFSET 0
        ) AS t ON true
        JOIN LATERAL (
          SELECT b.row_set_id, b.message_id, b.block_order, b.block_type, b.content_text, b.thinking_text, b.tool_name,
            b.tool_input, b.result_text, b.metadata, b.line_number, b.byte_offset, b.byte_length
          FROM ${contentBlocks} AS b
          WHERE b.workspace_id = ${workspaceId} AND b.row_set_id = taken.row_set_id
            AND (b.message_id, b.block_order) > (taken.after_message_id, taken.after_block_order)
            AND NOT EXISTS (
              SELECT FROM ${searchDocuments} AS d
              WHERE d.workspace_id = ${workspaceId} AND d.session_id = taken.session_id
                AND d.message_id = b.message_id AND d.block_order = b.block_order OFFSET 0)
          ORDER BY b.message_id, b.block_order LIMIT ${MAX_BATCH_BLOCKS}
        ) AS b ON true
        JOIN LATERAL (
          SELECT message_type, "timestamp", provider_message_id, uuid, line_number, is_sidechain, metadata
          FROM ${transcriptMessages} AS m
          WHERE m.workspace_id = ${workspaceId} AND m.row_set_id = b.row_set_id AND m.id = b.message_id OFFSET 0
        ) AS m ON true
        ORDER BY taken.number, b.message_id, b.block_order LIMIT ${MAX_BATCH_BLOCKS}
      ) AS next_block
    ) AS block
    WHERE line_bytes - byte_length < ${MAX_BATCH_LINE_BYTES}
    ORDER BY number, message_id, block_order`;
}

/** The sessions' next attempts come after 2, 4, 8 … seconds. */
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

/**
 * Content blocks of the sessions that wait to be indexed for search, in all workspaces: at least as many as there are
 * documents still to be made, as some are made already, and not every block has a text.
 */
export async function countWaitingBlocks(database: Database): Promise<number> {
  const { rows } = await database.execute<{ count: number }>(sql`
    SELECT coalesce(sum(t.content_block_count), 0)::float8 AS count
    FROM ${searchIndexState} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.row_set_id = s.row_set_id
    WHERE s.indexed_at IS NULL`);
  return rows[0]?.count ?? 0;
}

/** Sessions that search does not find yet, or not all of. */
export interface SearchBacklog {
  waitingSessions: number;
  /** ISO 8601; null if none waits. */
  oldestWaitingSince: string | null;
  /** Sessions among them whose last attempt failed. */
  failingSessions: number;
}

/** Reads the backlog of a workspace, or of all. */
export async function readSearchBacklog(database: Database, workspaceId?: string): Promise<SearchBacklog> {
  const { rows } = await database.execute<{ waiting: number; oldest_ms: number | null; failing: number }>(sql`
    SELECT count(*)::int AS waiting, extract(epoch FROM min(waiting_since))::float8 * 1000 AS oldest_ms,
      count(*) FILTER (WHERE failure_count > 0)::int AS failing
    FROM ${searchIndexState}
    WHERE indexed_at IS NULL ${workspaceId === undefined ? sql`` : sql`AND workspace_id = ${workspaceId}`}`);
  const { waiting = 0, oldest_ms = null, failing = 0 } = rows[0] ?? {};
  return {
    waitingSessions: waiting,
    oldestWaitingSince: oldest_ms === null ? null : new Date(oldest_ms).toISOString(),
    failingSessions: failing,
  };
}
