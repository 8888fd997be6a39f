import type { TranscriptBatch, TranscriptSummary } from '@recount/core';
import type { PoolClient } from 'pg';
import { createRowCopier } from '../copy/row-copier.ts';
import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { and, eq, gte } from '../drizzle.cjs';
import { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';
import { transcriptCheckpoints } from '../schema/transcripts.ts';
import { sessionEvents, toolCalls, usageEntries } from '../schema/usage.ts';
import type { PrefixRows } from './transcript-rows.ts';
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

export type TranscriptCopier = ReturnType<typeof createTranscriptCopier>;

/**
 * Accepts the rows of transcripts within the transaction on the connection `client`. Rows are sent a few megabytes at a
 * time while the next ones are parsed and encoded; Postgres' error is thrown by a later `sendFull`, or by `sendAll`.
 */
export function createTranscriptCopier(client: PoolClient, copier = createRowCopier(client)) {
  const { openTable } = copier;
  return {
    ...copier,
    addMessage: openTable(transcriptMessages),
    addBlock: openTable(contentBlocks),
    addUsageEntry: openTable(usageEntries),
    addToolCall: openTable(toolCalls),
    addEvent: openTable(sessionEvents),
    addIssue: openTable(ingestIssues),
    addCheckpoint: openTable(transcriptCheckpoints),
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
  /** Counts of all rows, including those that stayed. */
  counts: IngestCounts;
  checkpoint: WrittenCheckpoint | undefined;
}

interface TranscriptWriter {
  /**
   * Takes one batch of a parse; resolves when there is room for the next. The rows are written once the copier has sent
   * everything.
   */
  write(batch: TranscriptBatch): Promise<void>;
  /** Call it after the last batch. */
  finish(): WrittenTranscript;
}

/**
 * Passes the rows of a transcript to its transaction's copier. If rows of a shorter version stay, its last messages are
 * replaced, because later lines may have changed them, and `growth` collects the additions to them.
 */
export function createTranscriptWriter(
  transaction: Database,
  copier: TranscriptCopier,
  rowSet: RowSet,
  origin: EntryOrigin,
  growth?: GrowthCollector,
): TranscriptWriter {
  return new CopyingWriter(transaction, copier, rowSet, origin, growth);
}

class CopyingWriter implements TranscriptWriter {
  readonly #transaction: Database;
  readonly #copier: TranscriptCopier;
  readonly #rowSet: RowSet;
  readonly #origin: EntryOrigin;
  readonly #growth: GrowthCollector | undefined;
  readonly #prefix: PrefixRows | undefined;
  readonly #next: RowNumbers;
  readonly #issuesByCode: { [x: string]: number };
  readonly #counts: IngestCounts;
  #checkpoint: WrittenCheckpoint | undefined;
  #summary: TranscriptSummary | undefined;
  #mayReplace: boolean;
  #areIssuesReplaced = false;

  constructor(
    transaction: Database,
    copier: TranscriptCopier,
    rowSet: RowSet,
    origin: EntryOrigin,
    growth?: GrowthCollector,
  ) {
    this.#transaction = transaction;
    this.#copier = copier;
    this.#rowSet = rowSet;
    this.#origin = origin;
    this.#growth = growth;
    this.#prefix = rowSet.prefix;
    const firstNewNumbers = rowSet.firstNewNumbers;
    this.#next = { event: 0, issue: 0, ...this.#prefix?.numbers, ...firstNewNumbers };
    this.#issuesByCode = { ...this.#prefix?.counts.issuesByCode };
    this.#counts = {
      contentBlocks: 0,
      errors: 0,
      warnings: 0,
      ...this.#prefix?.counts,
      issuesByCode: this.#issuesByCode,
    };
    this.#mayReplace = this.#prefix !== undefined;
  }

  async write(batch: TranscriptBatch): Promise<void> {
    await this.#deleteReplacedIssues();
    if (batch.checkpoint !== undefined) this.#checkpoint = { state: batch.checkpoint, numbers: { ...this.#next } };
    await this.#addMessages(batch.messages);
    for (const block of batch.contentBlocks) this.#copier.addBlock(toContentBlockRow(this.#rowSet, block));
    this.#growth?.addBatch(batch);
    this.#counts.contentBlocks += batch.contentBlocks.length;
    for (const response of batch.apiResponses) {
      this.#copier.addUsageEntry(toUsageEntryRow(this.#rowSet, this.#origin, this.#next.entry++, response));
    }
    for (const call of batch.toolCalls) this.#copier.addToolCall(toToolCallRow(this.#rowSet, this.#next.call++, call));
    for (const event of batch.events) this.#copier.addEvent(toSessionEventRow(this.#rowSet, this.#next.event++, event));
    this.#addIssues(batch.issues);
    this.#summary = batch.summary;
    await this.#copier.sendFull();
  }

  finish(): WrittenTranscript {
    if (this.#summary === undefined) throw new Error('The last batch has not been written');
    return {
      rowSet: { ...this.#rowSet, ...this.#growth?.toGrowth() },
      summary: this.#summary,
      counts: this.#counts,
      checkpoint: this.#checkpoint,
    };
  }

  async #addMessages(messages: TranscriptBatch['messages']): Promise<void> {
    const [first] = messages;
    if (this.#mayReplace && first !== undefined) {
      this.#mayReplace = false;
      await this.#copier.sendAll();
      for (const timeMs of await deleteMessagesFrom(this.#transaction, this.#rowSet, first.id))
        this.#growth?.addMessageTime(timeMs);
    }
    for (const message of messages) {
      this.#copier.addMessage(toMessageRow(this.#rowSet, message));
      if (message.timestamp !== null) this.#growth?.addMessageTime(Date.parse(message.timestamp));
    }
  }

  /** Deletes the issues about the whole shorter version, which the parse lists again at its end. */
  async #deleteReplacedIssues(): Promise<void> {
    if (this.#prefix?.hasTranscriptIssues !== true || this.#areIssuesReplaced) return;
    this.#areIssuesReplaced = true;
    const { workspace_id, row_set_id, issue_number } = ingestIssues;
    const isReplaced = and(
      eq(workspace_id, opaqueWorkspaceId(this.#rowSet.workspaceId)),
      eq(row_set_id, this.#rowSet.rowSetId),
      gte(issue_number, this.#prefix.numbers.issue),
    );
    await this.#copier.sendAll();
    await this.#transaction.delete(ingestIssues).where(isReplaced);
  }

  #addIssues(issues: TranscriptBatch['issues']): void {
    for (const issue of issues) {
      if (issue.severity === 'error') this.#counts.errors++;
      else if (issue.severity === 'warning') this.#counts.warnings++;
      this.#issuesByCode[issue.code] = (this.#issuesByCode[issue.code] ?? 0) + issue.count;
      if (this.#next.issue < MAX_STORED_ISSUES)
        this.#copier.addIssue(toIssueRow(this.#rowSet, this.#next.issue++, issue));
    }
  }
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
