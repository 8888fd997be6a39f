import { createRowCopier } from '../copy/row-copier.ts';
import type { Database, DatabasePool } from '../database/database.ts';
import { lockWorkspace } from '../database/locks.ts';
import { preferIndexes } from '../database/planner.ts';
import { sql } from '../drizzle.cjs';
import { searchPostings, searchSegmentRowSets, searchSegments } from '../schema/search.ts';
import { listShards, MAX_SEGMENT_DOCUMENTS } from './postings.ts';
import { openSegment, type StoredSegment, storedSegmentColumns } from './read-segment.ts';
import { MAX_SEGMENT_POSTINGS, openSegmentTables, SegmentBuilder } from './segment-writer.ts';

/** This many segments of about the same size become one. */
const MERGED_SEGMENTS = 8;
/** Larger segments are only made again without removed texts. */
const MAX_MERGED_DOCUMENTS = MAX_SEGMENT_DOCUMENTS / 2;
/** A segment is made again once this part of its texts is removed, or some were removed this long ago. */
const REMOVED_PART = 0.25;
const MAX_REMOVED_HOURS = 1;

/** Facts about a segment that are known without reading it. */
export interface SegmentSize {
  id: string;
  documents: number;
  postings: number;
  removedDocuments: number;
  /** Some were removed long ago, or must go now. */
  mustBeMadeAgain: boolean;
}

/** Chooses the segments to make one of; none if it is not worth the work. */
export function chooseSegments(
  segments: readonly SegmentSize[],
  { removesOnly = false }: { removesOnly?: boolean } = {},
): SegmentSize[] {
  const outdated = segments.find(
    ({ mustBeMadeAgain, removedDocuments, documents }) =>
      mustBeMadeAgain || removedDocuments >= Math.max(1, documents * REMOVED_PART),
  );
  if (outdated !== undefined) return [outdated];
  if (removesOnly) return [];
  const small = segments.filter(
    ({ documents, postings }) => documents <= MAX_MERGED_DOCUMENTS && postings <= MAX_SEGMENT_POSTINGS / 2,
  );
  const ranks = Map.groupBy(small, ({ documents }) => Math.floor(Math.log(documents) / Math.log(MERGED_SEGMENTS)));
  for (const [, group] of [...ranks].sort(([one], [other]) => one - other)) {
    if (group.length >= MERGED_SEGMENTS) return takeFitting(group);
  }
  return [];
}

function takeFitting(group: readonly SegmentSize[]): SegmentSize[] {
  const taken: SegmentSize[] = [];
  let [documents, postings] = [0, 0];
  for (const segment of [...group].sort((one, other) => one.documents - other.documents)) {
    documents += segment.documents;
    postings += segment.postings;
    if (taken.length > 1 && (documents > MAX_SEGMENT_DOCUMENTS || postings > MAX_SEGMENT_POSTINGS)) break;
    taken.push(segment);
  }
  return taken;
}

interface MergeOptions {
  signal?: AbortSignal | undefined;
}

/**
 * Makes one segment of several small ones of a workspace, or one again without its removed texts, in a short
 * transaction; returns false if there is nothing to do. Texts that were removed in the last hour are left for later,
 * unless they are many. Any number of processes may call it: segments that another one holds are left out. It waits for
 * no one who deletes or writes rows.
 */
export async function mergeSegments(
  pool: DatabasePool,
  workspaceId: string,
  options: MergeOptions = {},
): Promise<boolean> {
  return await makeSegmentAgain(pool, workspaceId, { ...options, removesOnly: false });
}

/** Makes all segments with removed texts again without them, except those that another process holds. */
export async function removeFromSegments(
  pool: DatabasePool,
  workspaceId: string,
  options: MergeOptions = {},
): Promise<void> {
  while (await makeSegmentAgain(pool, workspaceId, { ...options, removesOnly: true }));
}

async function makeSegmentAgain(
  pool: DatabasePool,
  workspaceId: string,
  { removesOnly, signal }: MergeOptions & { removesOnly: boolean },
): Promise<boolean> {
  return await pool.withTransaction(
    async (transaction, client) => {
      await lockWorkspace(transaction, workspaceId, 'shared');
      await preferIndexes(transaction);
      const segments = await listSegments(transaction, workspaceId, removesOnly);
      const chosen = chooseSegments(segments, { removesOnly });
      const held = await holdSegments(
        transaction,
        workspaceId,
        chosen.map(({ id }) => id),
      );
      // Another process makes something of the others.
      if (held.length === 0 || (chosen.length > 1 && held.length < 2)) return false;
      const copier = createRowCopier(client);
      const addSegment = openSegmentTables(copier, workspaceId);
      const builder = new SegmentBuilder();
      for (const segment of held) await addRemaining(transaction, workspaceId, segment, builder);
      if (builder.documentCount > 0) addSegment(builder.take());
      await copier.sendAll();
      await deleteSegments(transaction, workspaceId, held);
      return true;
    },
    { signal },
  );
}

async function deleteSegments(
  transaction: Database,
  workspaceId: string,
  segments: readonly HeldSegment[],
): Promise<void> {
  const isOfThese = sql`
    workspace_id = ${workspaceId} AND segment_id = ANY(${sql.param(segments.map(({ id }) => id))}::text[])`;
  // The index of postings begins with the shard.
  const shards = sql.param([...new Set(segments.flatMap(({ postings }) => listShards(postings)))]);
  await transaction.execute(sql`
    DELETE FROM ${searchPostings} WHERE ${isOfThese} AND shard = ANY(${shards}::smallint[])`);
  await transaction.execute(sql`DELETE FROM ${searchSegmentRowSets} WHERE ${isOfThese}`);
  await transaction.execute(sql`DELETE FROM ${searchSegments} WHERE ${isOfThese}`);
}

async function listSegments(transaction: Database, workspaceId: string, removesAll: boolean): Promise<SegmentSize[]> {
  const { rows } = await transaction.execute<SegmentSize & Record<string, unknown>>(sql`
    SELECT s.segment_id AS id, s.document_count AS documents, s.posting_count AS postings,
      coalesce(r.documents, 0) AS "removedDocuments", coalesce(r.is_old, false) AS "mustBeMadeAgain"
    FROM ${searchSegments} AS s
    LEFT JOIN (
      SELECT segment_id, sum(document_count)::int AS documents,
        ${removesAll}::boolean OR min(removed_at) < now() - make_interval(hours => ${MAX_REMOVED_HOURS}::int) AS is_old
      FROM ${searchSegmentRowSets} WHERE workspace_id = ${workspaceId} AND removed_at IS NOT NULL
      GROUP BY segment_id
    ) AS r ON r.segment_id = s.segment_id
    WHERE s.workspace_id = ${workspaceId}
    ORDER BY s.segment_id`);
  return rows;
}

interface HeldSegment extends StoredSegment {
  removed: ReadonlySet<string>;
}

/**
 * Locks segments and the marks of their row sets, so that no mark can be set on a segment that goes: a transaction that
 * removes a row set waits, and then finds it in the new segment. Leaves out segments that another transaction has
 * locked, or has marks of.
 */
async function holdSegments(
  transaction: Database,
  workspaceId: string,
  segmentIds: readonly string[],
): Promise<HeldSegment[]> {
  if (segmentIds.length === 0) return [];
  const ids = sql`${sql.param([...segmentIds])}::text[]`;
  const { rows: segments } = await transaction.execute<StoredSegment & Record<string, unknown>>(sql`
    SELECT ${storedSegmentColumns} FROM ${searchSegments}
    WHERE workspace_id = ${workspaceId} AND segment_id = ANY(${ids})
    ORDER BY segment_id FOR UPDATE SKIP LOCKED`);
  const { rows: marks } = await transaction.execute<{ id: string; row_set_id: string; is_removed: boolean }>(sql`
    SELECT segment_id AS id, row_set_id, removed_at IS NOT NULL AS is_removed FROM ${searchSegmentRowSets}
    WHERE workspace_id = ${workspaceId} AND segment_id = ANY(${ids}) FOR UPDATE SKIP LOCKED`);
  const { rows: counts } = await transaction.execute<{ id: string; count: number }>(sql`
    SELECT segment_id AS id, count(*)::int AS count FROM ${searchSegmentRowSets}
    WHERE workspace_id = ${workspaceId} AND segment_id = ANY(${ids}) GROUP BY segment_id`);
  const held = Map.groupBy(marks, ({ id }) => id);
  const countOf = new Map(counts.map(({ id, count }) => [id, count]));
  return segments.flatMap((segment) => {
    const rowSets = held.get(segment.id) ?? [];
    if (rowSets.length !== (countOf.get(segment.id) ?? 0)) return [];
    const removed = new Set(rowSets.filter(({ is_removed }) => is_removed).map(({ row_set_id }) => row_set_id));
    return { ...segment, removed };
  });
}

/** Adds the documents of a segment whose row sets are not removed. */
async function addRemaining(
  transaction: Database,
  workspaceId: string,
  segment: HeldSegment,
  builder: SegmentBuilder,
): Promise<void> {
  const { documents, visit } = await openSegment(transaction, workspaceId, segment);
  const { removed } = segment;
  builder.addSegment(
    documents.map((document) => (removed.has(document.rowSetId) ? undefined : document)),
    visit,
  );
}

/** Workspaces with segments that may be merged, or must be made again. */
export async function listMergeableWorkspaces(database: Database): Promise<string[]> {
  const { rows } = await database.execute<{ workspace_id: string }>(sql`
    SELECT workspace_id FROM ${searchSegments} WHERE document_count <= ${MAX_MERGED_DOCUMENTS}
    GROUP BY workspace_id HAVING count(*) >= ${MERGED_SEGMENTS}
    UNION
    SELECT workspace_id FROM ${searchSegmentRowSets} WHERE removed_at IS NOT NULL GROUP BY workspace_id`);
  return rows.map(({ workspace_id }) => workspace_id);
}
