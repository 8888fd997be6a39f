import type { Database, DatabasePool } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { contentBlocks, transcriptMessages } from '../messages/schema.ts';
import { transcripts } from '../transcripts/schema.ts';
import { sessionEvents } from '../usage/schema.ts';
import { searchDocuments, searchIndexState } from './schema.ts';
import { MAX_DOCUMENT_LENGTH, type SearchableBlock, toSearchDocument } from './search-document.ts';

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
