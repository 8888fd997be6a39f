import type { TranscriptBatch } from '@recount/core';
import { ulid } from 'ulid';
import type { RowCopier } from '../copy/row-copier.ts';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { searchPostings, searchSegmentRowSets, searchSegments, searchWaiting } from '../schema/search.ts';
import { transcripts } from '../schema/transcripts.ts';
import { encodeShards, MAX_SEGMENT_DOCUMENTS, toPosting } from './postings.ts';
import { cutText, type TextBlock, toBlockText } from './search-text.ts';
import { packDocuments, type SegmentDocument, toLatestMs } from './segment-documents.ts';
import { readTokens, type TextTokens } from './tokens.ts';

/** A segment ends after the text that exceeds this number of postings, which take four bytes each until then. */
export const MAX_SEGMENT_POSTINGS = 2_000_000;
const FIRST_POSTINGS = 4096;

type PostingRow = Pick<typeof searchPostings.$inferInsert, 'shard' | 'postings'>;

/** The rows of a segment, without its workspace and id. */
export interface SegmentRows {
  segment: Omit<typeof searchSegments.$inferInsert, 'workspace_id' | 'segment_id'>;
  postings: PostingRow[];
  rowSets: { row_set_id: string; document_count: number }[];
}

/** Gathers the documents of one segment with their postings. */
export class SegmentBuilder {
  #postings = new Uint32Array(FIRST_POSTINGS);
  #postingCount = 0;
  #documents: SegmentDocument[] = [];

  get documentCount(): number {
    return this.#documents.length;
  }

  get isFull(): boolean {
    return this.#documents.length >= MAX_SEGMENT_DOCUMENTS || this.#postingCount >= MAX_SEGMENT_POSTINGS;
  }

  /** Adds a document with its tokens. */
  add(document: Omit<SegmentDocument, 'length'>, { tokens, length }: TextTokens): void {
    const number = this.#documents.length;
    this.#reserve(tokens.length);
    for (let index = 0; index < tokens.length; index++)
      this.#postings[this.#postingCount++] = toPosting(tokens[index] ?? 0, number);
    this.#documents.push({ ...document, length });
  }

  /** Adds the documents of another segment that are not undefined; `visit` passes its postings, by token. */
  addSegment(
    documents: readonly (SegmentDocument | undefined)[],
    visit: (add: (token: number, document: number) => void) => void,
  ): void {
    const numbers = new Int16Array(documents.length).fill(-1);
    for (const [index, document] of documents.entries()) {
      if (document === undefined) continue;
      numbers[index] = this.#documents.length;
      this.#documents.push(document);
    }
    visit((token, document) => {
      const number = numbers[document] ?? -1;
      if (number < 0) return;
      this.#reserve(1);
      this.#postings[this.#postingCount++] = toPosting(token, number);
    });
  }

  /** Ends the segment and begins another. */
  take(): SegmentRows {
    const documents = this.#documents;
    const latestMs = documents.reduce((latest, document) => Math.max(latest, document.latestMs), 0);
    const counts = new Map<string, number>();
    for (const { rowSetId } of documents) counts.set(rowSetId, (counts.get(rowSetId) ?? 0) + 1);
    const rows: SegmentRows = {
      segment: {
        document_count: documents.length,
        posting_count: this.#postingCount,
        latest_at: Number.isFinite(latestMs) ? new Date(latestMs).toISOString() : null,
        ...packDocuments(documents),
      },
      postings: encodeShards(this.#postings.subarray(0, this.#postingCount)),
      rowSets: [...counts].map(([row_set_id, document_count]) => ({ row_set_id, document_count })),
    };
    this.#documents = [];
    this.#postings = new Uint32Array(FIRST_POSTINGS);
    this.#postingCount = 0;
    return rows;
  }

  #reserve(count: number): void {
    const needed = this.#postingCount + count;
    if (needed <= this.#postings.length) return;
    const larger = new Uint32Array(Math.max(needed, this.#postings.length * 2));
    larger.set(this.#postings);
    this.#postings = larger;
  }
}

type AddSegment = (rows: SegmentRows) => void;

/** Opens the tables of segments in a copier, which sends what is added. */
export function openSegmentTables(copier: Pick<RowCopier, 'openTable'>, workspaceId: string): AddSegment {
  const addSegment = copier.openTable(searchSegments);
  const addPostings = copier.openTable(searchPostings);
  const addRowSet = copier.openTable(searchSegmentRowSets);
  return ({ segment, postings, rowSets }) => {
    const key = { workspace_id: workspaceId, segment_id: ulid() };
    addSegment({ ...key, ...segment });
    for (const row of postings) addPostings({ ...key, ...row });
    for (const row of rowSets) addRowSet({ ...key, ...row });
  };
}

/** Adds the texts of one transcript after another to segments, in the transaction that writes their rows. */
export interface SearchWriter {
  addBatch(rowSetId: string, batch: Pick<TranscriptBatch, 'contentBlocks' | 'events' | 'messages'>): void;
  /** Ends the last segment, before the copier sends everything. */
  endSegment(): void;
  /** Call it once the rows are written. */
  finish(transaction: Database): Promise<void>;
}

/** At most one segment is held in memory beside what the copier sends. */
export function createSearchWriter(copier: Pick<RowCopier, 'openTable'>, workspaceId: string): SearchWriter {
  const addSegment = openSegmentTables(copier, workspaceId);
  const builder = new SegmentBuilder();
  const laterRowSets = new Set<string>();
  return {
    addBatch(rowSetId, { contentBlocks, events, messages }) {
      addTexts(rowSetId, { contentBlocks, events }, (document, tokens) => {
        builder.add(document, tokens);
        if (builder.isFull) addSegment(builder.take());
      });
      for (const { id, timestamp } of messages) {
        if (timestamp !== null && Date.parse(timestamp) > toLatestMs(id)) laterRowSets.add(rowSetId);
      }
    },
    endSegment() {
      if (builder.documentCount > 0) addSegment(builder.take());
    },
    async finish(transaction) {
      if (laterRowSets.size > 0) await queueRowSets(transaction, workspaceId, [...laterRowSets]);
    },
  };
}

const NO_LINES: ReadonlySet<number> = new Set();

function toPromptLines(events: TranscriptBatch['events']): ReadonlySet<number> {
  const prompts = events.filter(({ kind }) => kind === 'prompt');
  return prompts.length === 0 ? NO_LINES : new Set(prompts.map(({ line_number }) => line_number));
}

type AddDocument = SegmentBuilder['add'];

/** Passes the texts of a batch of a parse to `add`. */
export function addTexts(
  rowSetId: string,
  { contentBlocks, events }: Pick<TranscriptBatch, 'contentBlocks' | 'events'>,
  add: AddDocument,
): void {
  const promptLines = toPromptLines(events);
  for (const block of contentBlocks) {
    const { message_id: messageId, block_order: blockOrder, line_number: line } = block;
    const key = { rowSetId, messageId, blockOrder, latestMs: toLatestMs(messageId) };
    addText(key, block, promptLines.has(line), add);
  }
}

/** Passes the text of a block, if it has one. */
export function addText(
  key: Omit<SegmentDocument, 'role' | 'length'>,
  block: TextBlock,
  isPrompt: boolean,
  add: AddDocument,
): void {
  const content = toBlockText(block);
  if (content === undefined) return;
  const role = isPrompt && content.role === 'text' ? 'prompt' : content.role;
  add({ ...key, role }, readTokens(cutText(content.text)));
}

/** Lets a worker make the segments of row sets again; until then they are found by those that they have. */
export async function queueRowSets(
  transaction: Database,
  workspaceId: string,
  rowSetIds: readonly string[],
): Promise<void> {
  await transaction.execute(sql`
    INSERT INTO ${searchWaiting} (workspace_id, row_set_id, session_id)
    SELECT workspace_id, row_set_id, session_id FROM ${transcripts}
    WHERE workspace_id = ${workspaceId} AND row_set_id = ANY(${sql.param([...rowSetIds])}::text[])
    ON CONFLICT DO NOTHING`);
}
