import type { TranscriptBatch, TranscriptMessage } from '@recount/core';
import type { PoolClient } from 'pg';
import { copyRows } from '../copy/copy-rows.ts';
import type { Database } from '../database.ts';
import { sql } from '../drizzle.cjs';
import { type TranscriptKey, toContentBlockRow, toIssueRow, toMessageRow } from '../rows/transcript-rows.ts';
import { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';

/**
 * Writes one batch of a parse within the transcript's transaction. `issueNumber` numbers the batch's first issue.
 * `client` is the transaction's connection.
 */
export async function writeBatch(
  transaction: Database,
  client: PoolClient,
  key: TranscriptKey,
  batch: TranscriptBatch,
  issueNumber: number,
): Promise<void> {
  const { messages, contentBlocks: blocks, issues } = batch;
  if (messages.length > 0) {
    await copyRows(
      client,
      transcriptMessages,
      mapped(messages, (message) => toMessageRow(key, message)),
    );
  }
  if (blocks.length > 0)
    await copyRows(
      client,
      contentBlocks,
      mapped(blocks, (block) => toContentBlockRow(key, block)),
    );
  if (issues.length > 0) {
    const rows = issues.map((issue, index) => toIssueRow(key, issueNumber + index, issue));
    await copyRows(client, ingestIssues, rows);
  }
  await updateMessages(transaction, key, batch.updatedMessages);
}

/** Rows are made as they are encoded: a second list of them would double the batch in memory. */
function* mapped<Source, Row>(sources: readonly Source[], toRow: (source: Source) => Row): Generator<Row> {
  for (const source of sources) yield toRow(source);
}

/** Later lines of a response can change these columns of its message, and no others. */
async function updateMessages(
  transaction: Database,
  key: TranscriptKey,
  messages: readonly TranscriptMessage[],
): Promise<void> {
  if (messages.length === 0) return;
  const json = JSON.stringify(messages);
  await transaction.execute(sql`
    UPDATE ${transcriptMessages} AS stored
    SET model = changed.model, request_id = changed.request_id, "timestamp" = changed."timestamp",
        stop_reason = changed.stop_reason, tokens_in = changed.tokens_in, tokens_out = changed.tokens_out,
        cache_read = changed.cache_read, cache_write = changed.cache_write, cost_usd = changed.cost_usd,
        has_text = changed.has_text, has_thinking = changed.has_thinking, has_tool_use = changed.has_tool_use,
        has_tool_result = changed.has_tool_result, metadata = changed.metadata
    FROM jsonb_populate_recordset(NULL::${transcriptMessages}, ${json}::jsonb) AS changed
    WHERE stored.workspace_id = ${key.workspaceId} AND stored.transcript_id = ${key.transcriptId}
      AND stored.id = changed.id`);
}
