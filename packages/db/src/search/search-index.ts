import type { Database, DatabasePool } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { contentBlocks, transcriptMessages } from '../messages/schema.ts';
import { toHiddenWorkspace } from '../planner.ts';
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
 * refreshed; the caller holds the sessions' locks. Waits for a batch of indexing under way, and no longer.
 */
export async function settleSearchIndex(transaction: Database, change: UsageChange): Promise<void> {
  const { workspaceId, sessionIds } = change;
  const toIds = (rows: readonly RowSet[]) => sql`${sql.param(rows.map(({ rowSetId }) => rowSetId))}::text[]`;
  const writtenIds = toIds(change.written);
  const rewrittenIds = toIds(change.written.filter(({ kept }) => kept === undefined));
  const workspace = toHiddenWorkspace(workspaceId);
  const ofSessions = (ids: readonly string[]) =>
    sql`workspace_id = ${workspace} AND session_id = ANY(${sql.param([...ids])}::text[])`;
  const primary = sql`
    SELECT s.session_id, t.row_set_id, t.parser_version FROM ${sessions} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
    WHERE s.workspace_id = ${workspace} AND s.session_id = ANY(${sql.param([...sessionIds])}::text[])`;
  const { rows: outdated } = await transaction.execute<{ session_id: string }>(sql`
    DELETE FROM ${searchIndexState} AS state
    WHERE ${ofSessions(sessionIds)} AND NOT EXISTS (
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
  await transaction.execute(sql`
    INSERT INTO ${searchIndexState} AS state (workspace_id, session_id, row_set_id, parser_version)
    SELECT ${workspaceId}, p.session_id, p.row_set_id, p.parser_version FROM (${primary}) AS p ORDER BY p.session_id
    ON CONFLICT (workspace_id, session_id) DO UPDATE
    SET row_set_id = excluded.row_set_id, after_message_id = '', after_block_order = -1, failure_count = 0,
      waiting_since = now(), next_attempt_at = now(), indexed_at = NULL
    WHERE state.row_set_id <> excluded.row_set_id OR state.row_set_id = ANY(${writtenIds})`);
}

export interface SearchBatch {
  workspaceId: string;
  sessionId: string;
  documents: number;
  /** The whole session is indexed now. */
  isDone: boolean;
}

/** Blocks of a batch, and bytes of the lines that hold them: it stays in memory, and holds up a re-parse. */
const MAX_BATCH_BLOCKS = 200;
const MAX_BATCH_LINE_BYTES = 1024 * 1024;
const MAX_PAUSE_SECONDS = 3600;

/**
 * Indexes the next blocks of the session that waits longest and that no other worker has; undefined where none waits. One
 * short transaction: a crash leaves the batch undone, and the next call does it. Where it fails, the session waits
 * for ever longer and lets others pass; the failure is thrown.
 */
export async function indexSearchBatch(
  pool: DatabasePool,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<SearchBatch | undefined> {
  let taken: TakenSession | undefined;
  try {
    return await pool.withTransaction(async (transaction) => {
      taken = await takeSession(transaction);
      return taken && (await indexBlocks(transaction, taken));
    }, options);
  } catch (error) {
    if (taken !== undefined && !options.signal?.aborted) await postpone(pool.database, taken);
    throw error;
  }
}

type TakenSession = Pick<
  typeof searchIndexState.$inferSelect,
  'workspace_id' | 'session_id' | 'row_set_id' | 'after_message_id' | 'after_block_order'
> & { [column: string]: unknown };

/**
 * Whoever replaces the rows of the session changes the state's row at the end of its transaction: while it is held here,
 * the rows are those that it speaks of.
 */
async function takeSession(transaction: Database): Promise<TakenSession | undefined> {
  const { rows } = await transaction.execute<TakenSession>(sql`
    SELECT workspace_id, session_id, row_set_id, after_message_id, after_block_order
    FROM ${searchIndexState}
    WHERE indexed_at IS NULL AND next_attempt_at <= now()
    ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED`);
  return rows[0];
}

async function indexBlocks(transaction: Database, session: TakenSession): Promise<SearchBatch> {
  const { workspace_id: workspaceId, session_id: sessionId } = session;
  const blocks = await readBlocks(transaction, session);
  const documents = blocks.flatMap((block) => toSearchDocument({ workspaceId, sessionId }, block) ?? []);
  if (documents.length > 0) {
    await transaction.execute(sql`
      INSERT INTO ${searchDocuments}
      SELECT * FROM json_populate_recordset(NULL::${searchDocuments}, ${JSON.stringify(documents)}::json)`);
  }
  const last = blocks.at(-1);
  const isDone = last === undefined || (blocks.length < MAX_BATCH_BLOCKS && last.line_bytes < MAX_BATCH_LINE_BYTES);
  await transaction.execute(sql`
    UPDATE ${searchIndexState} SET
      after_message_id = ${last?.message_id ?? session.after_message_id},
      after_block_order = ${last?.block_order ?? session.after_block_order},
      failure_count = 0, indexed_at = ${isDone ? sql`now()` : null}
    WHERE ${hasKey(session)}`);
  return { workspaceId, sessionId, documents: documents.length, isDone };
}

type ReadBlock = SearchableBlock & {
  /** Of this block's line and those of the blocks before it. */
  line_bytes: number;
};

/** The next blocks that have no document yet: in a session that grew, only those that came with it. */
async function readBlocks(transaction: Database, session: TakenSession): Promise<ReadBlock[]> {
  const { rows } = await transaction.execute<ReadBlock & { [column: string]: unknown }>(sql`
    SELECT message_id, block_order, block_type, tool_name, tool_input, metadata, line_number, message_type,
      left(content_text, ${MAX_DOCUMENT_LENGTH + 1}) AS content_text,
      left(thinking_text, ${MAX_DOCUMENT_LENGTH + 1}) AS thinking_text,
      left(result_text, ${MAX_DOCUMENT_LENGTH + 1}) AS result_text,
      byte_offset::float8 AS byte_offset, to_char("timestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "timestamp",
      provider_message_id, uuid, is_subagent, is_compact_summary, line_bytes::float8 AS line_bytes,
      EXISTS (
        SELECT FROM ${sessionEvents} AS e
        WHERE e.workspace_id = ${session.workspace_id} AND e.row_set_id = ${session.row_set_id}
          AND e.kind = 'prompt' AND e.line_number = block.message_line_number
      ) AS is_prompt
    FROM (
      SELECT *, sum(byte_length) OVER (ORDER BY message_id, block_order) AS line_bytes
      FROM (
        SELECT b.message_id, b.block_order, b.block_type, b.content_text, b.thinking_text, b.tool_name, b.tool_input,
          b.result_text, b.metadata, b.line_number, b.byte_offset, b.byte_length,
          m.message_type, m."timestamp", m.provider_message_id, m.uuid, m.line_number AS message_line_number,
          m.is_sidechain OR t.is_subagent AS is_subagent, m.metadata ? 'isCompactSummary' AS is_compact_summary
        FROM ${transcripts} AS t
        JOIN ${contentBlocks} AS b ON b.workspace_id = t.workspace_id AND b.row_set_id = t.row_set_id
        JOIN ${transcriptMessages} AS m
          ON m.workspace_id = b.workspace_id AND m.row_set_id = b.row_set_id AND m.id = b.message_id
        WHERE t.workspace_id = ${session.workspace_id} AND t.row_set_id = ${session.row_set_id}
          AND (b.message_id, b.block_order) > (${session.after_message_id}, ${session.after_block_order}::int)
          AND NOT EXISTS (
            SELECT FROM ${searchDocuments} AS d
            WHERE d.workspace_id = ${session.workspace_id} AND d.session_id = ${session.session_id}
              AND d.message_id = b.message_id AND d.block_order = b.block_order)
        ORDER BY b.message_id, b.block_order LIMIT ${MAX_BATCH_BLOCKS}
      ) AS next_block
    ) AS block
    WHERE line_bytes - byte_length < ${MAX_BATCH_LINE_BYTES}
    ORDER BY message_id, block_order`);
  return rows;
}

/** The session's next attempt comes after 2, 4, 8 … seconds. */
async function postpone(database: Database, session: TakenSession): Promise<void> {
  await database.execute(sql`
    UPDATE ${searchIndexState} SET
      failure_count = failure_count + 1,
      next_attempt_at = now() + interval '1 second' * least(power(2, least(failure_count + 1, 30)), ${MAX_PAUSE_SECONDS}::int)
    WHERE ${hasKey(session)}`);
}

const hasKey = ({ workspace_id, session_id }: TakenSession) =>
  sql`workspace_id = ${workspace_id} AND session_id = ${session_id}`;

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
  /** ISO 8601; null where none waits. */
  oldestWaitingSince: string | null;
  /** Of those that wait, the ones whose last attempt failed. */
  failingSessions: number;
}

/** Of a workspace, or of all. */
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
