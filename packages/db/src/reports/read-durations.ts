import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from './report-filter.ts';
import { readByKeys } from './report-groups.ts';
import type { ReportKey } from './report-keys.ts';
import { ROLLED_UP_CALLS, TOOL_CALL_SOURCE } from './tool-call-figures.ts';

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
  /** Whether calls are also grouped by program; calls without one are then left out. */
  isByProgram?: boolean;
  /**
   * Rows of the report with their keys. Other groups, of which there may be millions, are not loaded into this process.
   */
  rows: readonly object[];
  /** Whether there are other groups. */
  truncated: boolean;
  /** Calls that pass the filter and have a known duration. */
  timedCalls: number;
  /** If there are more calls than this, the database sorts their durations instead of this process. */
  maxListedCalls?: number;
}

/** 12 MB of durations. */
const MAX_LISTED_CALLS = 2_000_000;
const NONE: DurationFigures = { duration_p50_ms: null, duration_p95_ms: null };

/** The median and 95th percentile of each group's call durations, equal to percentile_disc. */
export async function readDurations(
  database: Database,
  filter: ReportFilter,
  request: DurationsRequest,
): Promise<Durations> {
  const { groupBy = [], isByProgram = false, rows, truncated, timedCalls, maxListedCalls = MAX_LISTED_CALLS } = request;
  const isListed = timedCalls <= maxListedCalls;
  const { program, durations, ...calls } = isListed ? LISTED_CALLS : SORTED_CALLS;
  const part = isByProgram ? { ...calls, where: sql`${calls.where} AND ${program} IS NOT NULL` } : calls;
  const read = (by: readonly ReportKey[], keys: Readonly<Record<string, SQL>>, ids?: readonly string[]) =>
    readByKeys<DurationsRead>(database, filter, by, { ...part, keys }, { durations }, ids);
  const names = isByProgram ? [...groupBy, 'program'] : groupBy;
  const toId = (row: object): string =>
    JSON.stringify(names.map((name) => (row as Record<string, unknown>)[name] ?? null));
  const groups = await read(groupBy, isByProgram ? { program } : {}, truncated ? rows.map(toId) : undefined);
  const figures = new Map(groups.map((group) => [toId(group), toFigures([group])]));
  const areAll = names.length === 0 || (isListed && !truncated);
  return {
    all: toFigures(areAll ? groups : await read([], {})),
    of: (row) => figures.get(toId(row)) ?? NONE,
  };
}

/** All durations of a group, or the two requested ones. */
interface DurationsRead {
  durations: Buffer | [p50: number, p95: number] | null;
}

const LISTED_CALLS = {
  ...ROLLED_UP_CALLS,
  where: sql`r.timed_calls > 0`,
  program: sql`r.program`,
  durations: sql`string_agg(r.durations, ''::bytea)`,
};

const SORTED_CALLS = {
  // As in roll-ups: in some zones clocks once changed within a quarter of an hour.
  source: { ...TOOL_CALL_SOURCE, time: sql`date_bin('15 minutes', ${TOOL_CALL_SOURCE.time}, '2000-01-01Z')` },
  table: sql`recount.tool_calls AS c`,
  where: sql`c.is_own AND c.duration_ms IS NOT NULL`,
  program: sql`c.program`,
  durations: sql`percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY c.duration_ms)::float8[]`,
};

/** For lists combined, or for one group that was sorted. */
function toFigures(groups: readonly DurationsRead[]): DurationFigures {
  const lists: Buffer[] = [];
  for (const { durations } of groups) {
    if (Array.isArray(durations)) return { duration_p50_ms: durations[0], duration_p95_ms: durations[1] };
    if (durations !== null) lists.push(durations);
  }
  return lists.length === 0 ? NONE : toPercentiles(parseDurations(Buffer.concat(lists)));
}

const BYTES_PER_DURATION = 6;

function parseDurations(bytes: Buffer): Float64Array {
  const durations = new Float64Array(bytes.length / BYTES_PER_DURATION);
  for (let index = 0; index < durations.length; index += 1)
    durations[index] = bytes.readUIntBE(index * BYTES_PER_DURATION, BYTES_PER_DURATION);
  return durations;
}

/** Requires at least one duration. Reorders them. */
const toPercentiles = (durations: Float64Array): DurationFigures => ({
  duration_p50_ms: selectRank(durations, Math.ceil(durations.length / 2)),
  duration_p95_ms: selectRank(durations, Math.ceil((durations.length * 19) / 20)),
});

/** The value of the given `rank`, from 1, if all were sorted: quickselect, in linear time. Reorders the values. */
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
