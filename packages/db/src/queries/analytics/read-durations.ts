import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import type { ReportFilter } from './report-filter.ts';
import { type GroupPart, readByKeys } from './report-groups.ts';
import type { ReportKey } from './report-keys.ts';
import { ROLLED_UP_CALLS, TOOL_CALL_SOURCE } from './tool-call-figures.ts';

export interface DurationFigures {
  duration_p50_ms: number | null;
  duration_p95_ms: number | null;
}

export interface Durations {
  all: DurationFigures;
  /** Of the group that a row is about. */
  of(row: object): DurationFigures;
}

export interface DurationsRequest {
  groupBy?: readonly ReportKey[];
  /** Whether calls go by their program as well; calls without one are left out then. */
  isByProgram?: boolean;
  /** Calls that the filter has, and whose duration is known. */
  timedCalls: number;
  /** Durations of more calls are not taken into this process, but sorted by the database, one by one. */
  maxListedCalls?: number;
}

/** 12 MB of durations. */
const MAX_LISTED_CALLS = 2_000_000;
const NONE: DurationFigures = { duration_p50_ms: null, duration_p95_ms: null };

/** How long half of the calls of each group, and 19 of 20, took at most: the durations that percentile_disc would give. */
export async function readDurations(
  database: Database,
  filter: ReportFilter,
  request: DurationsRequest,
): Promise<Durations> {
  const { groupBy = [], isByProgram, timedCalls, maxListedCalls = MAX_LISTED_CALLS } = request;
  const names = isByProgram ? [...groupBy, 'program'] : groupBy;
  const toId = (row: object): string =>
    JSON.stringify(names.map((name) => (row as Record<string, unknown>)[name] ?? null));
  const read = timedCalls > maxListedCalls ? sortDurations : listDurations;
  const { all, groups } = await read(database, filter, request);
  const figures = new Map(groups.map(({ key, durations }) => [toId(key), durations]));
  return { all, of: (row) => figures.get(toId(row)) ?? NONE };
}

interface DurationsRead {
  all: DurationFigures;
  groups: { key: object; durations: DurationFigures }[];
}

async function listDurations(
  database: Database,
  filter: ReportFilter,
  { groupBy = [], isByProgram }: DurationsRequest,
): Promise<DurationsRead> {
  const part: Pick<GroupPart, 'source' | 'table' | 'keys' | 'where'> = {
    ...ROLLED_UP_CALLS,
    ...(isByProgram && { keys: { program: sql`r.program` }, where: sql`r.program IS NOT NULL` }),
  };
  const rows = await readByKeys<{ durations: Buffer | null }>(database, filter, groupBy, part, {
    durations: sql`string_agg(r.durations, ''::bytea)`,
  });
  const lists = rows.map(({ durations, ...key }) => ({ key, bytes: durations ?? Buffer.alloc(0) }));
  return {
    all: toPercentiles(parseDurations(Buffer.concat(lists.map(({ bytes }) => bytes)))),
    groups: lists.map(({ key, bytes }) => ({ key, durations: toPercentiles(parseDurations(bytes)) })),
  };
}

async function sortDurations(
  database: Database,
  filter: ReportFilter,
  { groupBy = [], isByProgram }: DurationsRequest,
): Promise<DurationsRead> {
  const read = (by: readonly ReportKey[], keys: GroupPart['keys']) =>
    readByKeys<{ percentiles: [number, number] }>(
      database,
      filter,
      by,
      {
        // As roll-ups have it: in some zones clocks once changed within a quarter of an hour.
        source: { ...TOOL_CALL_SOURCE, time: sql`date_bin('15 minutes', ${TOOL_CALL_SOURCE.time}, '2000-01-01Z')` },
        table: sql`recount.tool_calls AS c`,
        ...(keys !== undefined && { keys }),
        where: sql`c.is_own AND c.duration_ms IS NOT NULL ${isByProgram ? sql`AND c.program IS NOT NULL` : sql``}`,
      },
      { percentiles: sql`percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY c.duration_ms)::float8[]` },
    );
  const [all] = await read([], undefined);
  const rows = await read(groupBy, isByProgram ? { program: sql`c.program` } : undefined);
  return {
    all: toFigures(all?.percentiles),
    groups: rows.map(({ percentiles, ...key }) => ({ key, durations: toFigures(percentiles) })),
  };
}

const toFigures = (percentiles: [number, number] | undefined): DurationFigures =>
  percentiles === undefined ? NONE : { duration_p50_ms: percentiles[0], duration_p95_ms: percentiles[1] };

const BYTES_PER_DURATION = 6;

function parseDurations(bytes: Buffer): Float64Array {
  const durations = new Float64Array(bytes.length / BYTES_PER_DURATION);
  for (let index = 0; index < durations.length; index += 1)
    durations[index] = bytes.readIntBE(index * BYTES_PER_DURATION, BYTES_PER_DURATION);
  return durations;
}

/** Reorders the durations. */
function toPercentiles(durations: Float64Array): DurationFigures {
  const count = durations.length;
  if (count === 0) return NONE;
  return toFigures([selectRank(durations, Math.ceil(count / 2)), selectRank(durations, Math.ceil((count * 19) / 20))]);
}

/** The value that would be the `rank`th, from 1 on, if all were sorted: quickselect, in linear time. Reorders the values. */
export function selectRank(values: Float64Array, rank: number): number {
  const at = (index: number): number => values[index] as number;
  const target = rank - 1;
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    // At random, so that no order of the values takes long.
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
