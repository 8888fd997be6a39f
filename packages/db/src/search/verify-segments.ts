import type { TranscriptBatch } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { searchSegmentRowSets, searchSegments } from '../schema/search.ts';
import { transcripts } from '../schema/transcripts.ts';
import type { RowSetKey } from '../transcripts/transcript-rows.ts';
import { findSegment, openSegment } from './read-segment.ts';
import type { SegmentDocument } from './segment-documents.ts';
import { addTexts } from './segment-writer.ts';

/** Search's texts of a row set, as hashes of their keys, roles, lengths and tokens. */
export interface ExpectedTexts {
  addBatch(batch: Pick<TranscriptBatch, 'contentBlocks' | 'events'>): void;
  readonly hashes: readonly number[];
}

/** Collects what a transcript's segments should have, from its parse. */
export function createExpectedTexts(rowSetId: string): ExpectedTexts {
  const hashes: number[] = [];
  return {
    hashes,
    addBatch(batch) {
      addTexts(rowSetId, batch, (document, { tokens, length }) => {
        const sum = new TokenSum();
        for (const token of tokens) sum.add(token);
        hashes.push(hashDocument({ ...document, length }, sum.value));
      });
    },
  };
}

/** A sum of tokens, the same in any order. */
class TokenSum {
  value = 0;

  add(token: number): void {
    this.value = (this.value + Math.imul(token + 1, 0x9e3779b1) * (1 + (token & 15))) | 0;
  }
}

function hashDocument({ messageId, blockOrder, role, length }: SegmentDocument, tokens: number): number {
  const text = `${messageId}/${blockOrder}/${role}/${Math.min(length, 0xffff)}/${tokens}`;
  let [one, other] = [0x811c9dc5 | 0, 0x9e3779b9 | 0];
  for (let index = 0; index < text.length; index++) {
    one = Math.imul(one ^ text.charCodeAt(index), 0x01000193);
    other = Math.imul(other + text.charCodeAt(index), 0x85ebca6b) ^ (other >>> 15);
  }
  return (one >>> 0) * 2 ** 21 + (other & (2 ** 21 - 1));
}

/** The hashes of a segment's documents, by row set; none if it is lost or damaged. */
type SegmentHashes = ReadonlyMap<string, readonly number[]>;

/** Segments that are kept, because transcripts that were ingested together share one. */
const MAX_KEPT_SEGMENTS = 8;

/** Compares segments with what they should have. Keeps the last ones that it has read. */
export class SegmentVerifier {
  readonly #kept = new Map<string, SegmentHashes>();

  /** Compares the texts of a row set in all of its segments. */
  async compare(
    snapshot: Database,
    { workspaceId, rowSetId }: RowSetKey,
    expected: readonly number[],
  ): Promise<{ rows: number; missing: number; surplus: number }> {
    const { rows } = await snapshot.execute<{ segment_id: string }>(sql`
      SELECT segment_id FROM ${searchSegmentRowSets}
      WHERE workspace_id = ${workspaceId} AND row_set_id = ${rowSetId} AND removed_at IS NULL`);
    const stored: number[] = [];
    for (const { segment_id } of rows) {
      const hashes = await this.#readHashes(snapshot, workspaceId, segment_id);
      for (const hash of hashes.get(rowSetId) ?? []) stored.push(hash);
    }
    const counts = new Map<number, number>();
    for (const hash of expected) counts.set(hash, (counts.get(hash) ?? 0) + 1);
    for (const hash of stored) counts.set(hash, (counts.get(hash) ?? 0) - 1);
    let [missing, surplus] = [0, 0];
    for (const count of counts.values()) {
      if (count > 0) missing += count;
      else surplus -= count;
    }
    return { rows: stored.length, missing, surplus };
  }

  async #readHashes(snapshot: Database, workspaceId: string, segmentId: string): Promise<SegmentHashes> {
    const known = this.#kept.get(segmentId);
    if (known !== undefined) return known;
    const hashes = await readHashes(snapshot, workspaceId, segmentId);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= MAX_KEPT_SEGMENTS && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(segmentId, hashes);
    return hashes;
  }
}

async function readHashes(snapshot: Database, workspaceId: string, segmentId: string): Promise<SegmentHashes> {
  const segment = await findSegment(snapshot, workspaceId, segmentId);
  if (segment === undefined) return new Map();
  const hashes = new Map<string, number[]>();
  try {
    const { documents, visit } = await openSegment(snapshot, workspaceId, segment);
    const sums = documents.map(() => new TokenSum());
    visit((token, document) => sums[document]?.add(token));
    for (const [index, document] of documents.entries()) {
      const known = hashes.get(document.rowSetId) ?? [];
      known.push(hashDocument(document, sums[index]?.value ?? 0));
      hashes.set(document.rowSetId, known);
    }
    return hashes;
  } catch (error) {
    if (isDamage(error)) return new Map();
    throw error;
  }
}

/** The bytes are no segment: cut, or not compressed. */
const isDamage = (error: unknown): boolean =>
  error instanceof RangeError || (error instanceof Error && 'code' in error && String(error.code).startsWith('ZSTD_'));

/** Number of texts in segments whose row sets no transcript has, or are not those that are noted. */
export async function countStraySegments(database: Database, workspaceId: string): Promise<number> {
  const { rows } = await database.execute<{ documents: number }>(sql`
    SELECT (
      SELECT coalesce(sum(r.document_count), 0) FROM ${searchSegmentRowSets} AS r
      WHERE r.workspace_id = ${workspaceId} AND r.removed_at IS NULL AND NOT EXISTS (
        SELECT FROM ${transcripts} AS t WHERE t.workspace_id = ${workspaceId} AND t.row_set_id = r.row_set_id)
    )::int + (
      SELECT coalesce(sum(s.document_count), 0) FROM ${searchSegments} AS s
      WHERE s.workspace_id = ${workspaceId} AND s.document_count <> (
        SELECT coalesce(sum(r.document_count), 0) FROM ${searchSegmentRowSets} AS r
        WHERE r.workspace_id = ${workspaceId} AND r.segment_id = s.segment_id)
    )::int AS documents`);
  return rows[0]?.documents ?? 0;
}
