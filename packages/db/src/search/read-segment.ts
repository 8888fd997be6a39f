import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { searchPostings, searchSegments } from '../schema/search.ts';
import { decompress, listShards, visitPostings } from './postings.ts';
import { type SegmentDocument, unpackDocuments } from './segment-documents.ts';

/** A segment as it is stored. */
export interface StoredSegment {
  id: string;
  /** Number of its postings. */
  postings: number;
  places: Buffer;
  keys: Buffer;
}

/** The documents of a segment in order, and what passes its postings, by token. */
export interface OpenedSegment {
  documents: SegmentDocument[];
  visit: (add: (token: number, document: number) => void) => void;
}

/** The columns of a `StoredSegment`. */
export const storedSegmentColumns = sql`segment_id AS id, posting_count AS postings, places, keys`;

/** Reads the postings of a segment. Throws if it is damaged. */
export async function openSegment(
  database: Database,
  workspaceId: string,
  segment: StoredSegment,
): Promise<OpenedSegment> {
  const { rows } = await database.execute<{ shard: number; postings: Buffer }>(sql`
    SELECT shard, postings FROM ${searchPostings}
    WHERE workspace_id = ${workspaceId} AND shard = ANY(${sql.param(listShards(segment.postings))}::smallint[])
      AND segment_id = ${segment.id}`);
  return {
    documents: unpackDocuments(segment),
    visit: (add) => {
      for (const { shard, postings } of rows) visitPostings(decompress(postings), shard, add);
    },
  };
}

/** Finds a segment by its id. */
export async function findSegment(
  database: Database,
  workspaceId: string,
  segmentId: string,
): Promise<StoredSegment | undefined> {
  const { rows } = await database.execute<StoredSegment & Record<string, unknown>>(sql`
    SELECT ${storedSegmentColumns} FROM ${searchSegments}
    WHERE workspace_id = ${workspaceId} AND segment_id = ${segmentId}`);
  return rows[0];
}
