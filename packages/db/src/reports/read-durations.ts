import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { GroupPart } from './group-part.ts';
import { createRankSearch, type RankSearch } from './rank-search.ts';
import { readDurationLists } from './read-duration-lists.ts';
import { readByKeys } from './report-groups.ts';
import type { ReportKey } from './report-keys.ts';
import { ROLLED_UP_CALLS } from './tool-call-figures.ts';

export interface DurationFigures {
  duration_p50_ms: number | null;
  duration_p95_ms: number | null;
}

interface Durations {
  all: DurationFigures;
  /** Durations of the row's group. */
  of(row: object): DurationFigures;
}

interface DurationsRequest {
  groupBy?: readonly ReportKey[];
  /** True if calls are also grouped by program; calls without one are then left out. */
  isByProgram?: boolean;
  /** Rows of the report with their keys. Other groups (there may be millions) take no memory here. */
  rows: readonly object[];
  /** True if there are other groups. */
  truncated: boolean;
  /** Calls that pass the filter and have a known duration. */
  timedCalls: number;
  /** If there are more calls than this, their durations are counted instead of held in memory. */
  maxListedCalls?: number;
}

/** 3 MB of durations, and some 15 MB while they are read. */
const MAX_LISTED_CALLS = 500_000;
/** 8 MB in a first pass, and 16 MB in others. */
const MAX_COUNTERS = 2_000_000;
/** Shorter durations than this are complete after one pass. */
const MAX_COUNTERS_OF_GROUP = 65_536;
const BYTES_PER_DURATION = 6;
const NONE: DurationFigures = { duration_p50_ms: null, duration_p95_ms: null };

/**
 * The median and 95th percentile of each group's call durations, equal to percentile_disc. If there are more calls than
 * are listed, `database` has to be a snapshot, as they are read more than once.
 */
export async function readDurations(
  database: Database,
  filter: ReportFilter,
  request: DurationsRequest,
): Promise<Durations> {
  const { groupBy = [], isByProgram = false, rows, timedCalls, maxListedCalls = MAX_LISTED_CALLS } = request;
  const names = isByProgram ? [...groupBy, 'program'] : groupBy;
  const toId = (row: object): string =>
    JSON.stringify(names.map((name) => (row as Record<string, unknown>)[name] ?? null));
  const group: Grouping = { groupBy, toId, ids: rows.map(toId), part: isByProgram ? CALLS_OF_PROGRAMS : TIMED_CALLS };
  const { all, figures } =
    timedCalls <= maxListedCalls
      ? await listDurations(database, filter, group, request.truncated)
      : await countDurations(database, filter, group);
  return { all, of: (row) => figures.get(toId(row)) ?? NONE };
}

interface Grouping {
  groupBy: readonly ReportKey[];
  part: TimedCalls;
  /** A group by its keys. */
  toId(row: object): string;
  /** Groups of the report's rows. */
  ids: readonly string[];
}

type TimedCalls = Pick<GroupPart, 'source' | 'table' | 'keys'> & { where: SQL };

const TIMED_CALLS: TimedCalls = { ...ROLLED_UP_CALLS, where: sql`r.timed_calls > 0` };
const CALLS_OF_PROGRAMS: TimedCalls = {
  ...TIMED_CALLS,
  keys: { program: sql`r.program` },
  where: sql`${TIMED_CALLS.where} AND r.program IS NOT NULL`,
};

interface GroupedFigures {
  all: DurationFigures;
  figures: ReadonlyMap<string, DurationFigures>;
}

/** Figures of durations that are all in memory together. */
async function listDurations(
  database: Database,
  filter: ReportFilter,
  { groupBy, part, toId, ids }: Grouping,
  truncated: boolean,
): Promise<GroupedFigures> {
  const aggregates = { durations: sql`string_agg(r.durations, ''::bytea)` };
  const read = (by: readonly ReportKey[], { keys, ...calls }: TimedCalls, only?: readonly string[]) =>
    readByKeys<{ durations: Buffer | null }>(
      database,
      filter,
      by,
      { ...calls, ...(keys && { keys }) },
      aggregates,
      only,
    );
  const groups = await read(groupBy, part, truncated ? ids : undefined);
  const figures = new Map(groups.map((row) => [toId(row), toFigures([row])]));
  const { keys: _keys, ...allCalls } = part;
  return { all: toFigures(truncated ? await read([], allCalls) : groups), figures };
}

function toFigures(groups: readonly { durations: Buffer | null }[]): DurationFigures {
  const lists = groups.flatMap(({ durations }) => durations ?? []);
  const durations = parseDurations(Buffer.concat(lists));
  const [p50, p95] = toRanks(durations.length).map((rank) => selectRank(durations, rank));
  return { duration_p50_ms: p50 ?? null, duration_p95_ms: p95 ?? null };
}

/** Figures of durations that are read in passes, until all groups are complete. */
async function countDurations(
  database: Database,
  filter: ReportFilter,
  { groupBy, part, toId, ids }: Grouping,
): Promise<GroupedFigures> {
  const counters = Math.floor(MAX_COUNTERS / (ids.length + 1));
  const createSearch = (): RankSearch => createRankSearch(toRanks, Math.min(counters, MAX_COUNTERS_OF_GROUP));
  const searches = new Map(ids.map((id) => [id, createSearch()]));
  const ofAll = createSearch();
  const found = new Map<RankSearch, DurationFigures>();
  while (found.size <= searches.size) {
    for await (const lists of readDurationLists(database, filter, groupBy, part)) {
      for (const list of lists) {
        const durations = parseDurations(list.durations);
        searches.get(toId(list))?.add(durations);
        ofAll.add(durations);
      }
    }
    for (const search of [ofAll, ...searches.values()]) {
      const values = search.endPass();
      if (values !== undefined)
        found.set(search, { duration_p50_ms: values[0] ?? null, duration_p95_ms: values[1] ?? null });
    }
  }
  const figures = new Map([...searches].map(([id, search]) => [id, found.get(search) ?? NONE]));
  return { all: found.get(ofAll) ?? NONE, figures };
}

/** Ranks of the median and the 95th percentile, from 1. */
const toRanks = (count: number): number[] => (count === 0 ? [] : [Math.ceil(count / 2), Math.ceil((count * 19) / 20)]);

function parseDurations(bytes: Buffer): Float64Array {
  const durations = new Float64Array(bytes.length / BYTES_PER_DURATION);
  for (let index = 0; index < durations.length; index += 1)
    durations[index] = bytes.readUIntBE(index * BYTES_PER_DURATION, BYTES_PER_DURATION);
  return durations;
}

/** The value of the given `rank`, from 1, if all were sorted. By quickselect, in linear time. Reorders the values. */
export function selectRank(values: Float64Array, rank: number): number {
  const at = (index: number): number => values[index] as number;
  const target = rank - 1;
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    // Random, so that no order of the values is slow.
    const pivot = at(low + Math.floor(Math.random() * (high - low + 1)));
    let left = low;
    let right = high;
    while (left <= right) {
      while (at(left) < pivot) left += 1;
      while (at(right) > pivot) right -= 1;
      if (left > right) break;
      const value = at(left);
      values[left] = at(right);
      values[right] = value;
      left += 1;
      right -= 1;
    }
    if (target <= right) high = right;
    else if (target >= left) low = left;
    else break;
  }
  return at(target);
}
