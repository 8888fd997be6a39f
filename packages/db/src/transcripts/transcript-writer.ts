import type { TranscriptBatch, TranscriptSummary } from '@recount/core';
import type { PoolClient } from 'pg';
import { createRowCopier } from '../copy/row-copier.ts';
import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';
import { transcriptCheckpoints } from '../schema/transcripts.ts';
import { sessionEvents, toolCalls, usageEntries } from '../schema/usage.ts';
import type { PrefixRows } from './transcript-rows.ts';
import {
  type EntryOrigin,
  type IngestCounts,
  type RowNumbers,
  type RowSet,
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
  rowSet: RowSet;
  summary: TranscriptSummary;
  /** Counts of all rows, including those that stayed. */
  counts: IngestCounts;
  checkpoint: WrittenCheckpoint | undefined;
}

/**
 * Passes the rows of a transcript to its transaction's copier. If rows of a shorter version stay, its last messages are
 * replaced, because later lines may have changed them.
 */
export class TranscriptWriter {
  readonly #transaction: Database;
  readonly #copier: TranscriptCopier;
  readonly #rowSet: RowSet;
  readonly #origin: EntryOrigin;
  readonly #prefix: PrefixRows | undefined;
  readonly #next: RowNumbers;
  readonly #issuesByCode: { [x: string]: number };
  readonly #counts: IngestCounts;
  #checkpoint: WrittenCheckpoint | undefined;
  #summary: TranscriptSummary | undefined;
  #isReplaced = false;
  #areMessagesReplaced = false;

  constructor(transaction: Database, copier: TranscriptCopier, rowSet: RowSet, origin: EntryOrigin) {
    this.#transaction = transaction;
    this.#copier = copier;
    this.#rowSet = rowSet;
    this.#origin = origin;
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
  }

  /**
   * Takes one batch of a parse; resolves when there is room for the next. The rows are written once the copier has sent
   * everything.
   */
  async write(batch: TranscriptBatch): Promise<void> {
    if (batch.checkpoint !== undefined) this.#checkpoint = { state: batch.checkpoint, numbers: { ...this.#next } };
    const isFirst = !this.#isReplaced && (batch.issues.length > 0 || batch.events.length > 0);
    if (isFirst || batch.messages.length > 0) await this.#deleteReplaced(batch.messages[0]?.id);
    for (const message of batch.messages) this.#copier.addMessage(toMessageRow(this.#rowSet, message));
    for (const block of batch.contentBlocks) this.#copier.addBlock(toContentBlockRow(this.#rowSet, block));
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

  /** Call it after the last batch. */
  async finish(): Promise<WrittenTranscript> {
    if (this.#summary === undefined) throw new Error('The last batch has not been written');
    await this.#deleteReplaced();
    return {
      rowSet: this.#rowSet,
      summary: this.#summary,
      counts: this.#counts,
      checkpoint: this.#checkpoint,
    };
  }

  /**
   * Deletes the shorter version's rows that the continued parse makes again, before any such row is written: first its
   * checkpoint, its last turn and the issues about it as a whole, and once it is known, the messages from `firstMessageId` on.
   */
  async #deleteReplaced(firstMessageId?: string): Promise<void> {
    if (this.#prefix === undefined) return;
    const { workspaceId, rowSetId } = this.#rowSet;
    const ofRowSet = sql`workspace_id = ${opaqueWorkspaceId(workspaceId)} AND row_set_id = ${rowSetId}`;
    const replaced: SQL[] = [];
    if (!this.#isReplaced) {
      replaced.push(sql`${transcriptCheckpoints} WHERE ${ofRowSet}`);
      const { numbers, hasTranscriptIssues = false } = this.#prefix;
      replaced.push(sql`${sessionEvents} WHERE ${ofRowSet} AND event_number >= ${numbers.event}::int`);
      const isReplaced = sql`${ofRowSet} AND issue_number >= ${numbers.issue}::int`;
      if (hasTranscriptIssues) replaced.push(sql`${ingestIssues} WHERE ${isReplaced}`);
    }
    if (firstMessageId !== undefined && !this.#areMessagesReplaced) {
      replaced.push(sql`${transcriptMessages} WHERE ${ofRowSet} AND id >= ${firstMessageId}`);
    }
    this.#isReplaced = true;
    this.#areMessagesReplaced ||= firstMessageId !== undefined;
    if (replaced.length === 0) return;
    const deletions = replaced.map((rows, index) => sql`${sql.raw(`deleted_${index}`)} AS (DELETE FROM ${rows})`);
    await this.#copier.sendAll();
    await this.#transaction.execute(sql`WITH ${sql.join(deletions, sql`, `)} SELECT`);
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
