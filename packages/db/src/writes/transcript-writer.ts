import type { TranscriptBatch, TranscriptMessage } from '@recount/core';
import type { PoolClient } from 'pg';
import { copyRows } from '../copy/copy-rows.ts';
import type { Database } from '../database.ts';
import { type PgTable, sql } from '../drizzle.cjs';
import {
  type TranscriptKey,
  toContentBlockRow,
  toIssueRow,
  toMessageRow,
  toSessionEventRow,
  toToolCallRow,
  toUsageEntryRow,
  type WriteContext,
} from '../rows/transcript-rows.ts';
import { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';
import { sessionEvents, toolCalls, usageEntries } from '../schema/usage.ts';
import type { UsageNumbers } from './replaced-usage.ts';

export interface TranscriptWriter {
  /** Writes one batch of a parse; the batches are to be written one after the other. */
  write(batch: TranscriptBatch): Promise<void>;
}

/**
 * Writes the rows of a transcript within its transaction, whose connection `client` is. Usage entries and tool calls are
 * numbered from `firstNumbers`, issues and events from 0.
 */
export function createTranscriptWriter(
  transaction: Database,
  client: PoolClient,
  context: WriteContext,
  firstNumbers: UsageNumbers,
): TranscriptWriter {
  const next = { ...firstNumbers, issue: 0, event: 0 };
  const copy = async <Table extends PgTable, Source>(
    table: Table,
    sources: readonly Source[],
    toRow: (source: Source) => Table['$inferInsert'],
  ): Promise<void> => {
    if (sources.length > 0) await copyRows(client, table, mapped(sources, toRow));
  };
  return {
    async write(batch) {
      await copy(transcriptMessages, batch.messages, (message) => toMessageRow(context, message));
      await copy(contentBlocks, batch.contentBlocks, (block) => toContentBlockRow(context, block));
      await copy(usageEntries, batch.apiResponses, (response) => toUsageEntryRow(context, next.entry++, response));
      await copy(toolCalls, batch.toolCalls, (call) => toToolCallRow(context, next.call++, call));
      await copy(sessionEvents, batch.events, (event) => toSessionEventRow(context, next.event++, event));
      await copy(ingestIssues, batch.issues, (issue) => toIssueRow(context, next.issue++, issue));
      await updateMessages(transaction, context, batch.updatedMessages);
    },
  };
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
