import type { TranscriptBatch, TranscriptMessage } from '@recount/core';
import type { PoolClient } from 'pg';
import { createRowCopier } from '../copy/row-copier.ts';
import type { Database } from '../database.ts';
import { sql } from '../drizzle.cjs';
import {
  type RowSetKey,
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
import { createMessageWindow } from './message-window.ts';
import type { UsageNumbers } from './replaced-usage.ts';

/** Numbers that the next rows of a row set get. */
export interface RowNumbers extends UsageNumbers {
  event: number;
  issue: number;
}

/** State of a parse, and the numbers of the rows that come after it. */
export interface WrittenCheckpoint {
  state: Uint8Array;
  numbers: RowNumbers;
}

export interface TranscriptWriter {
  /** Takes one batch of a parse; resolves when there is room for the next. */
  write(batch: TranscriptBatch): Promise<void>;
  /** Resolves when Postgres has taken every row. */
  finish(): Promise<void>;
  /** The checkpoint that a batch brought. */
  readonly checkpoint: WrittenCheckpoint | undefined;
}

/** Changes of messages that are in the database already wait until they are this many. */
const MAX_WAITING_CHANGES = 1000;

/**
 * Writes the rows of a transcript within its transaction, whose connection `client` is, numbered from `firstNumbers`. Rows are sent a few megabytes at a time, while the next ones
 * are parsed and encoded; Postgres' error is thrown by a later `write`, or by `finish`.
 */
export function createTranscriptWriter(
  transaction: Database,
  client: PoolClient,
  context: WriteContext,
  firstNumbers: RowNumbers,
): TranscriptWriter {
  const next = { ...firstNumbers };
  let checkpoint: WrittenCheckpoint | undefined;
  const copier = createRowCopier(client);
  const addMessage = copier.openTable(transcriptMessages);
  const addBlock = copier.openTable(contentBlocks);
  const addUsageEntry = copier.openTable(usageEntries);
  const addToolCall = copier.openTable(toolCalls);
  const addEvent = copier.openTable(sessionEvents);
  const addIssue = copier.openTable(ingestIssues);
  const messages = createMessageWindow((message) => addMessage(toMessageRow(context, message)));

  const updateChanged = async (): Promise<void> => {
    await copier.sendAll();
    await updateMessages(transaction, context, messages.takeChanged());
  };

  return {
    async write(batch) {
      if (batch.checkpoint !== undefined) checkpoint = { state: batch.checkpoint, numbers: { ...next } };
      messages.add(batch);
      for (const block of batch.contentBlocks) addBlock(toContentBlockRow(context, block));
      for (const response of batch.apiResponses) addUsageEntry(toUsageEntryRow(context, next.entry++, response));
      for (const call of batch.toolCalls) addToolCall(toToolCallRow(context, next.call++, call));
      for (const event of batch.events) addEvent(toSessionEventRow(context, next.event++, event));
      for (const issue of batch.issues) addIssue(toIssueRow(context, next.issue++, issue));
      await copier.sendFull();
      if (messages.changedCount >= MAX_WAITING_CHANGES) await updateChanged();
    },
    async finish() {
      messages.close();
      await updateChanged();
    },
    get checkpoint() {
      return checkpoint;
    },
  };
}

/** Later lines of a response can change these columns of its message, and no others. */
async function updateMessages(
  transaction: Database,
  key: RowSetKey,
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
    WHERE stored.workspace_id = ${key.workspaceId} AND stored.row_set_id = ${key.rowSetId}
      AND stored.id = changed.id`);
}
