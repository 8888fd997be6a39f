import { createLocalClock } from '@recount/core';
import { sql } from '../drizzle.cjs';
import type { Database } from './database.ts';

const DAY_MS = 24 * 60 * 60_000;
const BUCKET_MS = 15 * 60_000;
const YEARS_BEFORE = 2;
const YEARS_AFTER = 1;
/** A change that only PostgreSQL knows lasts at least as long as Ramadan, when clocks go back. */
const SAMPLE_DAYS = 28;

/**
 * The zones whose clocks PostgreSQL sets otherwise than Node, in the year of `nowMs`, the two before and the next, or that it
 * does not know. Figures by local time use Node's rules; PostgreSQL's apply to AT TIME ZONE in queries of one's own. Takes
 * one to two seconds for all zones, some 420.
 */
export async function findDifferingTimeZones(
  database: Database,
  nowMs: number,
  zones: readonly string[] = Intl.supportedValuesOf('timeZone'),
): Promise<string[]> {
  const year = new Date(nowMs).getUTCFullYear();
  const [startMs, endMs] = [Date.UTC(year - YEARS_BEFORE, 0), Date.UTC(year + YEARS_AFTER + 1, 0)];
  const samples = zones.flatMap((zone) => listSamples(zone, startMs, endMs));
  // OFFSET 0: PostgreSQL fails at the first zone that it does not know.
  const { rows } = await database.execute<{ zone: string }>(sql`
    WITH known AS MATERIALIZED (SELECT name FROM pg_timezone_names)
    SELECT zone FROM unnest(${sql.param(zones)}::text[]) AS zone WHERE zone NOT IN (SELECT name FROM known)
    UNION
    SELECT zone FROM (
      SELECT s.* FROM unnest(
        ${sql.param(samples.map(({ zone }) => zone))}::text[],
        ${sql.param(samples.map(({ timeMs }) => timeMs))}::float8[],
        ${sql.param(samples.map(({ localMs }) => localMs))}::float8[]
      ) AS s (zone, time_ms, local_ms)
      WHERE zone IN (SELECT name FROM known) OFFSET 0
    ) AS s
    WHERE extract(epoch FROM to_timestamp(time_ms / 1000) AT TIME ZONE zone) * 1000 <> local_ms
    ORDER BY zone`);
  return rows.map(({ zone }) => zone);
}

interface Sample {
  zone: string;
  timeMs: number;
  localMs: number;
}

/** At the beginning, every few weeks, and around each change of the clocks. */
function listSamples(zone: string, startMs: number, endMs: number): Sample[] {
  const clock = createLocalClock(zone);
  const times = clock.listOffsets(startMs, endMs).flatMap(({ fromMs }) => [fromMs - BUCKET_MS, fromMs]);
  for (let timeMs = startMs; timeMs < endMs; timeMs += SAMPLE_DAYS * DAY_MS) times.push(timeMs);
  return times.map((timeMs) => ({ zone, timeMs, localMs: clock.toLocalMs(timeMs) }));
}
