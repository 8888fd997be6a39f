import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { searchPostings, searchSegmentRowSets, searchSegments } from '../schema/search.ts';
import { findCandidates, planTokens, type TokenPlan } from './candidates.ts';
import type { SearchTarget } from './parse-search-query.ts';
import { decompress } from './postings.ts';
import {
  type DocumentKeys,
  type DocumentPlaces,
  type SegmentDocument,
  TEXT_ROLES,
  type TextRole,
  unpackKeys,
  unpackPlaces,
} from './segment-documents.ts';

/** A text that may match. */
export type CandidateText = Omit<SegmentDocument, 'latestMs'>;

/** Restricts candidates by what segments know. */
export interface CandidateFilter {
  /** Undefined means all. */
  roles: ReadonlySet<TextRole> | undefined;
  /** Texts that are certainly older are left out. */
  fromMs: number | undefined;
  /** Undefined means all. */
  rowSetIds: ReadonlySet<string> | undefined;
}

/** Segments whose postings are read together: at first few, which suffice if each has the texts of a short time. */
const FIRST_SEGMENTS = 32;
const MAX_READ_SEGMENTS = 256;
/** The segments of more row sets are most segments. */
const MAX_ROW_SETS = 2000;
/** Candidates whose times are compared to choose the next ones. */
const MAX_SAMPLE = 4096;

interface Segment {
  id: string;
  /** Infinite if unknown. */
  latestMs: number;
}

/** A segment whose candidates are known. */
interface OpenSegment {
  id: string;
  places: DocumentPlaces;
  keys: DocumentKeys | undefined;
  /** Numbers of documents that are left, ascending. */
  left: Uint16Array;
}

export async function openCandidates(
  snapshot: Database,
  workspaceId: string,
  target: SearchTarget,
  filter: CandidateFilter,
): Promise<CandidateReader> {
  const { rows } = await snapshot.execute<{ id: string; latest_ms: number | null }>(sql`
    SELECT segment_id AS id, extract(epoch FROM latest_at)::float8 * 1000 AS latest_ms
    FROM ${searchSegments} WHERE workspace_id = ${workspaceId} AND ${toSegmentCondition(workspaceId, filter.rowSetIds)}`);
  const segments = rows
    .map(({ id, latest_ms }) => ({ id, latestMs: latest_ms ?? Number.POSITIVE_INFINITY }))
    .filter(({ latestMs }) => filter.fromMs === undefined || latestMs >= filter.fromMs)
    .sort((one, other) => other.latestMs - one.latestMs);
  const removed = await readRemovedRowSets(snapshot, workspaceId);
  return new CandidateReader(snapshot, workspaceId, planTokens(target), filter, segments, removed);
}

function toSegmentCondition(workspaceId: string, rowSetIds: ReadonlySet<string> | undefined): SQL {
  if (rowSetIds === undefined || rowSetIds.size > MAX_ROW_SETS) return sql`true`;
  return sql`segment_id = ANY(ARRAY(
    SELECT DISTINCT segment_id FROM ${searchSegmentRowSets}
    WHERE workspace_id = ${workspaceId} AND row_set_id = ANY(${sql.param([...rowSetIds])}::text[])))`;
}

/** By segment. */
async function readRemovedRowSets(snapshot: Database, workspaceId: string): Promise<Map<string, Set<string>>> {
  const { rows } = await snapshot.execute<{ segment_id: string; row_set_id: string }>(sql`
    SELECT segment_id, row_set_id FROM ${searchSegmentRowSets}
    WHERE workspace_id = ${workspaceId} AND removed_at IS NOT NULL`);
  const removed = new Map<string, Set<string>>();
  for (const { segment_id, row_set_id } of rows) {
    const ids = removed.get(segment_id) ?? new Set();
    removed.set(segment_id, ids.add(row_set_id));
  }
  return removed;
}

/** Candidates by the latest time that they may have, newest first. */
export class CandidateReader {
  readonly #snapshot: Database;
  readonly #workspaceId: string;
  readonly #plan: TokenPlan;
  readonly #filter: CandidateFilter;
  readonly #segments: readonly Segment[];
  readonly #removed: ReadonlyMap<string, ReadonlySet<string>>;
  #open: OpenSegment[] = [];
  #readSegments = 0;
  #nextCount = FIRST_SEGMENTS;
  #latestOpenMs = Number.NEGATIVE_INFINITY;

  constructor(
    snapshot: Database,
    workspaceId: string,
    plan: TokenPlan,
    filter: CandidateFilter,
    segments: readonly Segment[],
    removed: ReadonlyMap<string, ReadonlySet<string>>,
  ) {
    this.#snapshot = snapshot;
    this.#workspaceId = workspaceId;
    this.#plan = plan;
    this.#filter = filter;
    this.#segments = segments;
    this.#removed = removed;
  }

  /** No candidate that is left is newer; minus infinity at the end. */
  get latestLeftMs(): number {
    return Math.max(this.#latestOpenMs, this.#segments[this.#readSegments]?.latestMs ?? Number.NEGATIVE_INFINITY);
  }

  /** About this number of the next candidates, and all that may be as new as the last of them; undefined at the end. */
  async next(size: number): Promise<CandidateText[] | undefined> {
    while (this.latestLeftMs > Number.NEGATIVE_INFINITY) {
      const unreadMs = this.#segments[this.#readSegments]?.latestMs;
      if (unreadMs !== undefined && this.#latestOpenMs <= unreadMs) await this.#readMore();
      else return await this.#take(Math.max(this.#chooseTime(size), nextAbove(unreadMs ?? Number.NEGATIVE_INFINITY)));
    }
    return undefined;
  }

  /** A time that about `size` candidates have or exceed. */
  #chooseTime(size: number): number {
    const count = this.#open.reduce((sum, { left }) => sum + left.length, 0);
    const step = Math.max(1, Math.floor(count / MAX_SAMPLE));
    const sample: number[] = [];
    let at = 0;
    for (const { left, places } of this.#open) {
      for (; at < left.length; at += step) sample.push(places.latestMs[left[at] ?? 0] ?? 0);
      at -= left.length;
    }
    const sorted = Float64Array.from(sample).sort();
    return sorted[Math.max(0, sorted.length - 1 - Math.floor(size / step))] ?? Number.NEGATIVE_INFINITY;
  }

  /** Takes the candidates from that time on. */
  async #take(fromMs: number): Promise<CandidateText[]> {
    const chosen: { segment: OpenSegment; documents: number[] }[] = [];
    this.#latestOpenMs = Number.NEGATIVE_INFINITY;
    for (const segment of this.#open) {
      const { places, left } = segment;
      const documents: number[] = [];
      let kept = 0;
      for (const document of left) {
        const latestMs = places.latestMs[document] ?? 0;
        if (latestMs >= fromMs) documents.push(document);
        else {
          left[kept++] = document;
          if (latestMs > this.#latestOpenMs) this.#latestOpenMs = latestMs;
        }
      }
      segment.left = left.subarray(0, kept);
      if (documents.length > 0) chosen.push({ segment, documents });
    }
    await this.#readKeys(chosen.map(({ segment }) => segment));
    const texts = chosen.flatMap(({ segment, documents }) => this.#toTexts(segment, documents));
    this.#open = this.#open.filter(({ left }) => left.length > 0);
    return texts;
  }

  #toTexts({ id, places, keys }: OpenSegment, documents: readonly number[]): CandidateText[] {
    if (keys === undefined) return [];
    const removed = this.#removed.get(id);
    return documents.flatMap((document) => {
      const rowSetId = keys.rowSetIds[places.rowSets[document] ?? 0] ?? '';
      if (removed?.has(rowSetId)) return [];
      return {
        rowSetId,
        messageId: keys.messageIds[document] ?? '',
        blockOrder: keys.blockOrders[document] ?? 0,
        role: TEXT_ROLES[places.roles[document] ?? 0] ?? 'text',
        length: keys.lengths[document] ?? 0,
      };
    });
  }

  async #readKeys(segments: readonly OpenSegment[]): Promise<void> {
    const wanted = new Map(segments.filter(({ keys }) => keys === undefined).map((segment) => [segment.id, segment]));
    if (wanted.size === 0) return;
    const { rows } = await this.#snapshot.execute<{ id: string; keys: Buffer }>(sql`
      SELECT segment_id AS id, keys FROM ${searchSegments}
      WHERE workspace_id = ${this.#workspaceId} AND segment_id = ANY(${sql.param([...wanted.keys()])}::text[])`);
    for (const { id, keys } of rows) {
      const segment = wanted.get(id);
      if (segment !== undefined) segment.keys = unpackKeys(keys);
    }
  }

  /** Finds the candidates of the next segments. */
  async #readMore(): Promise<void> {
    const some = this.#segments.slice(this.#readSegments, this.#readSegments + this.#nextCount);
    this.#readSegments += some.length;
    this.#nextCount = Math.min(2 * this.#nextCount, MAX_READ_SEGMENTS);
    const shards = await this.#readShards(some.map(({ id }) => id));
    const candidates = new Map<string, Uint16Array>();
    for (const [id, postings] of shards) {
      const documents = findCandidates(this.#plan, postings);
      if (documents.length > 0) candidates.set(id, documents);
    }
    if (candidates.size === 0) return;
    // Keys name the row sets. They are large, so without this filter they are read later, of few segments.
    const keys = this.#filter.rowSetIds === undefined ? sql`NULL` : sql`keys`;
    const { rows } = await this.#snapshot.execute<{ id: string; places: Buffer; keys: Buffer | null }>(sql`
      SELECT segment_id AS id, places, ${keys} AS keys FROM ${searchSegments}
      WHERE workspace_id = ${this.#workspaceId} AND segment_id = ANY(${sql.param([...candidates.keys()])}::text[])`);
    for (const { id, places, keys } of rows) {
      const segment = { id, places: unpackPlaces(places), keys: keys === null ? undefined : unpackKeys(keys) };
      this.#addSegment(segment, candidates.get(id) ?? new Uint16Array());
    }
  }

  #addSegment(segment: Omit<OpenSegment, 'left'>, candidates: Uint16Array): void {
    const { roles, fromMs = Number.NEGATIVE_INFINITY, rowSetIds } = this.#filter;
    const { latestMs, roles: roleOf, rowSets } = segment.places;
    const isWantedRole = TEXT_ROLES.map((role) => roles === undefined || roles.has(role));
    const isWantedRowSet = segment.keys?.rowSetIds.map((id) => rowSetIds === undefined || rowSetIds.has(id));
    const left = new Uint16Array(candidates.length);
    let count = 0;
    for (const document of candidates) {
      const timeMs = latestMs[document] ?? 0;
      if (timeMs < fromMs || !isWantedRole[roleOf[document] ?? 0]) continue;
      if (isWantedRowSet !== undefined && !isWantedRowSet[rowSets[document] ?? 0]) continue;
      left[count++] = document;
      if (timeMs > this.#latestOpenMs) this.#latestOpenMs = timeMs;
    }
    if (count > 0) this.#open.push({ ...segment, left: left.subarray(0, count) });
  }

  async #readShards(segmentIds: string[]): Promise<Map<string, Map<number, Uint8Array>>> {
    const { rows } = await this.#snapshot.execute<{ id: string; shard: number; postings: Buffer }>(sql`
      SELECT segment_id AS id, shard, postings FROM ${searchPostings}
      WHERE workspace_id = ${this.#workspaceId} AND shard = ANY(${sql.param([...this.#plan.shards])}::smallint[])
        AND segment_id = ANY(${sql.param(segmentIds)}::text[])`);
    const shards = new Map<string, Map<number, Uint8Array>>();
    for (const { id, shard, postings } of rows) {
      const known = shards.get(id) ?? new Map<number, Uint8Array>();
      shards.set(id, known.set(shard, decompress(postings)));
    }
    return shards;
  }
}

/** The smallest number above; times are whole milliseconds. */
const nextAbove = (timeMs: number): number => (Number.isFinite(timeMs) ? timeMs + 1 : timeMs);
