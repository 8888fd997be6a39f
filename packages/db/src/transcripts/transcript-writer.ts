import type { TranscriptBatch, TranscriptSummary } from '@recount/core';
import type { PoolClient } from 'pg';
import { createRowCopier } from '../copy/row-copier.ts';
import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { and, eq, gte } from '../drizzle.cjs';
import { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';
import { sessionEvents, toolCalls, usageEntries } from '../schema/usage.ts';
import {
  type EntryOrigin,
  type GrowthCollector,
  type IngestCounts,
  type RowNumbers,
  type RowSet,
  type RowSetKey,
  toContentBlockRow,
  toIssueRow,
  toMessageRow,
  toSessionEventRow,
  toToolCallRow,
  toUsageEntryRow,
} from './transcript-rows.ts';

type TranscriptCopier = ReturnType<typeof createTranscriptCopier>;

/**
 * Accepts the rows of transcripts within the transaction on the connection `client`. Rows are sent a few megabytes at a
 * time while the next ones are parsed and encoded; Postgres' error is thrown by a later `sendFull`, or by `sendAll`.
 */
export function createTranscriptCopier(client: PoolClient, { openTable, sendFull, sendAll } = createRowCopier(client)) {
  return {
    addMessage: openTable(transcriptMessages),
    addBlock: openTable(contentBlocks),
    addUsageEntry: openTable(usageEntries),
    addToolCall: openTable(toolCalls),
    addEvent: openTable(sessionEvents),
    addIssue: openTable(ingestIssues),
    sendFull,
    sendAll,
  };
}

/** Issues stored with their place; further ones are only counted. */
const MAX_STORED_ISSUES = 1000;

/** State of a parse, and the numbers of the rows that come after it. */
export interface WrittenCheckpoint {
  state: Uint8Array;
  numbers: RowNumbers;
}

/** The result of a parse whose batches were written. */
export interface WrittenTranscript {
  /** With its growth, if a collector was passed. */
  rowSet: RowSet;
  summary: TranscriptSummary;
  /** Counts of all rows, including those that were kept. */
  counts: IngestCounts;
  checkpoint: WrittenCheckpoint | undefined;
}

interface TranscriptWriter {
  /**
   * Takes one batch of a parse; resolves when there is room for the next. The rows are written once the copier has sent
   * everything.
   */
  write(batch: TranscriptBatch): Promise<void>;
  /** To be called after the last batch. */
  finish(): WrittenTranscript;
}

/**
 * Passes the rows of a transcript to its transaction's copier. If rows of a shorter version are kept, its last messages
 * are replaced, because later lines may have changed them, and `growth` collects what is added to them.
 */
export function createTranscriptWriter(
  transaction: Database,
  copier: TranscriptCopier,
  rowSet: RowSet,
  origin: EntryOrigin,
  growth?: GrowthCollector,
): TranscriptWriter {
  const { prefix, firstNewNumbers } = rowSet;
  const next: RowNumbers = { event: 0, issue: 0, ...prefix?.numbers, ...firstNewNumbers };
  const issuesByCode = { ...prefix?.counts.issuesByCode };
  const counts: IngestCounts = { contentBlocks: 0, errors: 0, warnings: 0, ...prefix?.counts, issuesByCode };
  let checkpoint: WrittenCheckpoint | undefined;
  let summary: TranscriptSummary | undefined;
  let mayReplace = prefix !== undefined;
  let areIssuesReplaced = false;
  let firstRewrittenMessageId: string | undefined;

  const addMessages = async (messages: TranscriptBatch['messages']): Promise<void> => {
    const [first] = messages;
    if (mayReplace && first !== undefined) {
      mayReplace = false;
      firstRewrittenMessageId = first.id;
      await copier.sendAll();
      for (const timeMs of await deleteMessagesFrom(transaction, rowSet, first.id)) growth?.addMessageTime(timeMs);
    }
    for (const message of messages) {
      copier.addMessage(toMessageRow(rowSet, message));
      if (message.timestamp !== null) growth?.addMessageTime(Date.parse(message.timestamp));
    }
  };

  /** Deletes the issues about the whole shorter version, which the parse lists again at its end. */
  const deleteReplacedIssues = async (): Promise<void> => {
    if (prefix?.hasTranscriptIssues !== true || areIssuesReplaced) return;
    areIssuesReplaced = true;
    const { workspace_id, row_set_id, issue_number } = ingestIssues;
    const isReplaced = and(
      eq(workspace_id, opaqueWorkspaceId(rowSet.workspaceId)),
      eq(row_set_id, rowSet.rowSetId),
      gte(issue_number, prefix.numbers.issue),
    );
    await copier.sendAll();
    await transaction.delete(ingestIssues).where(isReplaced);
  };

  const addIssues = (issues: TranscriptBatch['issues']): void => {
    for (const issue of issues) {
      if (issue.severity === 'error') counts.errors++;
      else if (issue.severity === 'warning') counts.warnings++;
      issuesByCode[issue.code] = (issuesByCode[issue.code] ?? 0) + issue.count;
      if (next.issue < MAX_STORED_ISSUES) copier.addIssue(toIssueRow(rowSet, next.issue++, issue));
    }
  };

  return {
    async write(batch) {
      await deleteReplacedIssues();
      if (batch.checkpoint !== undefined) checkpoint = { state: batch.checkpoint, numbers: { ...next } };
      await addMessages(batch.messages);
      for (const block of batch.contentBlocks) copier.addBlock(toContentBlockRow(rowSet, block));
      growth?.addBatch(batch);
      counts.contentBlocks += batch.contentBlocks.length;
      for (const response of batch.apiResponses) {
        copier.addUsageEntry(toUsageEntryRow(rowSet, origin, next.entry++, response));
      }
      for (const call of batch.toolCalls) copier.addToolCall(toToolCallRow(rowSet, next.call++, call));
      for (const event of batch.events) copier.addEvent(toSessionEventRow(rowSet, next.event++, event));
      addIssues(batch.issues);
      summary = batch.summary;
      await copier.sendFull();
    },
    finish() {
      if (summary === undefined) throw new Error('The last batch has not been written');
      return {
        rowSet: { ...rowSet, ...growth?.toGrowth(), firstRewrittenMessageId },
        summary,
        counts,
        checkpoint,
      };
    },
  };
}

/**
 * Deletes the messages from `firstId` on, which the continued parse emits again in their current state. Returns their
 * times, in milliseconds since 1970.
 */
async function deleteMessagesFrom(transaction: Database, key: RowSetKey, firstId: string): Promise<number[]> {
  const { workspace_id, row_set_id, id, timestamp } = transcriptMessages;
  const rows = await transaction
    .delete(transcriptMessages)
    .where(and(eq(workspace_id, opaqueWorkspaceId(key.workspaceId)), eq(row_set_id, key.rowSetId), gte(id, firstId)))
    .returning({ timestamp });
  return rows.flatMap((row) => (row.timestamp === null ? [] : Date.parse(row.timestamp)));
}
