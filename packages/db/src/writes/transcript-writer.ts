import type { TranscriptBatch, TranscriptMessage } from '@recount/core';
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
import { transcriptMessages } from '../schema/messages.ts';
import { toHiddenWorkspace } from './in-workspace.ts';
import { createMessageWindow } from './message-window.ts';
import type { UsageNumbers } from './replaced-usage.ts';
import { createQuarterSet } from './touched-quarters.ts';
import type { TranscriptCopier } from './transcript-copier.ts';

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
  /** Gives the copier what was held back; the rows are there once that has sent all. */
  finish(): Promise<void>;
  /** The checkpoint that a batch brought. */
  readonly checkpoint: WrittenCheckpoint | undefined;
  /** See `WrittenRows.messageQuarters`; complete once `finish` is done. */
  toMessageQuarters(): number[] | undefined;
}

/** Changes of messages that are in the database already wait until they are this many. */
const MAX_WAITING_CHANGES = 1000;

/**
 * Gives the rows of a transcript to a copier of its transaction, numbered from `firstNumbers`.
 */
export function createTranscriptWriter(
  transaction: Database,
  copier: TranscriptCopier,
  context: WriteContext,
  firstNumbers: RowNumbers,
): TranscriptWriter {
  const next = { ...firstNumbers };
  let checkpoint: WrittenCheckpoint | undefined;
  const messages = createMessageWindow((message) => copier.addMessage(toMessageRow(context, message)));

  const quarters = createQuarterSet();

  const updateChanged = async (): Promise<void> => {
    await copier.sendAll();
    const earlierTimesMs = await updateMessages(transaction, context, messages.takeChanged());
    for (const timeMs of earlierTimesMs) quarters.add(timeMs);
  };

  return {
    async write(batch) {
      if (batch.checkpoint !== undefined) checkpoint = { state: batch.checkpoint, numbers: { ...next } };
      messages.add(batch);
      for (const { timestamp } of [...batch.messages, ...batch.updatedMessages]) {
        if (timestamp !== null) quarters.add(Date.parse(timestamp));
      }
      for (const block of batch.contentBlocks) copier.addBlock(toContentBlockRow(context, block));
      for (const response of batch.apiResponses) {
        copier.addUsageEntry(toUsageEntryRow(context, next.entry++, response));
      }
      for (const call of batch.toolCalls) copier.addToolCall(toToolCallRow(context, next.call++, call));
      for (const event of batch.events) copier.addEvent(toSessionEventRow(context, next.event++, event));
      for (const issue of batch.issues) copier.addIssue(toIssueRow(context, next.issue++, issue));
      await copier.sendFull();
      if (messages.changedCount >= MAX_WAITING_CHANGES) await updateChanged();
    },
    async finish() {
      messages.close();
      if (messages.changedCount > 0) await updateChanged();
    },
    get checkpoint() {
      return checkpoint;
    },
    toMessageQuarters: quarters.toQuarters,
  };
}

/** Later lines of a response can change these columns of its message, and no others. Returns their times before, in milliseconds. */
async function updateMessages(
  transaction: Database,
  key: RowSetKey,
  messages: readonly TranscriptMessage[],
): Promise<number[]> {
  if (messages.length === 0) return [];
  const json = JSON.stringify(messages);
  const { rows } = await transaction.execute<{ time_ms: number | null }>(sql`
    UPDATE ${transcriptMessages} AS stored
    SET model = changed.model, request_id = changed.request_id, "timestamp" = changed."timestamp",
        stop_reason = changed.stop_reason, tokens_in = changed.tokens_in, tokens_out = changed.tokens_out,
        cache_read = changed.cache_read, cache_write = changed.cache_write, cost_usd = changed.cost_usd,
        has_text = changed.has_text, has_thinking = changed.has_thinking, has_tool_use = changed.has_tool_use,
        has_tool_result = changed.has_tool_result, metadata = changed.metadata
    FROM jsonb_populate_recordset(NULL::${transcriptMessages}, ${json}::jsonb) AS changed
    JOIN LATERAL (
      SELECT workspace_id, row_set_id, id, (extract(epoch FROM "timestamp") * 1000)::float8 AS time_ms
      FROM ${transcriptMessages}
      WHERE workspace_id = ${toHiddenWorkspace(key.workspaceId)} AND row_set_id = ${key.rowSetId} AND id = changed.id
      OFFSET 0
    ) AS earlier ON true
    WHERE stored.workspace_id = earlier.workspace_id AND stored.row_set_id = earlier.row_set_id AND stored.id = earlier.id
    RETURNING earlier.time_ms`);
  return rows.flatMap(({ time_ms }) => time_ms ?? []);
}
