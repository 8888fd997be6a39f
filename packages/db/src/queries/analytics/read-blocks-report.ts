import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import { USAGE_SOURCE } from './read-usage-report.ts';
import { joinSessions, type ReportFilter, toConditions } from './report-filter.ts';
import { type GroupPart, type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import { ROLLUP_SUMS, sumUsage, toUsageFigures, type UsageFigures, type UsageSums } from './usage-figures.ts';

const HOUR_MS = 60 * 60_000;
export const BLOCK_MS = 5 * HOUR_MS;
/** No timestamp is later, nor has Postgres one of years with five digits. */
const END_OF_TIME_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export interface BlockFigures extends UsageFigures {
  sessions: number;
  models: string[];
}

export interface Block extends BlockFigures {
  /** ISO 8601; five hours apart. */
  start: string;
  end: string;
}

type Sums = UsageSums & { sessions: number; models: string[] };

/**
 * Blocks of five hours that begin within the filter's time: each at the full hour (UTC) of the first response after the
 * end of the one before, whatever the filter but the agent. The filter's other conditions choose what is counted.
 */
export async function readBlocksReport(
  database: Database,
  filter: ReportFilter,
  { limit }: Pick<ReportPage, 'limit'>,
): Promise<ReportRows<Block, BlockFigures & { blocks: number }>> {
  const atAnyTime = { ...filter, from: null, to: null };
  const starts = toBlockStarts(await listHours(database, filter)).filter(
    (start) =>
      (filter.from === null || start >= Date.parse(filter.from)) &&
      (filter.to === null || start < Date.parse(filter.to)),
  );
  const edges = [...starts, ...starts.slice(-1).map((start) => Math.min(start + BLOCK_MS, END_OF_TIME_MS))].map((ms) =>
    new Date(ms).toISOString(),
  );
  const number = sql`width_bucket(u.bucket_start, ${sql.param(edges)}::timestamptz[])`;
  const usage: GroupPart = {
    source: USAGE_SOURCE,
    table: sql`recount.usage_rollup AS u`,
    keys: { block: number },
    groupedColumns: ['model'],
    columns: { model: sql`u.model`, ...ROLLUP_SUMS },
    where: sql`NOT u.is_shared AND u.bucket_start >= ${edges.at(0) ?? null}::timestamptz
      AND u.bucket_start < ${edges.at(-1) ?? null}::timestamptz`,
  };
  const { rows, totals, truncated, groupCount } = await readGroups<Sums, BlockFigures, { block: number }>(
    database,
    atAnyTime,
    { limit },
    {
      parts: [usage],
      countsSessions: true,
      aggregates: {
        models: sql`coalesce(array_agg(DISTINCT model ORDER BY model) FILTER (WHERE model IS NOT NULL), '{}')`,
        ...sumUsage(),
      },
      order: sql`g.block`,
      toFigures: (sums) => ({ sessions: sums.sessions, models: sums.models, ...toUsageFigures(sums) }),
    },
  );
  return {
    rows: rows.map(({ block, ...figures }) => {
      const start = starts[block - 1] ?? Number.NaN;
      return { start: new Date(start).toISOString(), end: new Date(start + BLOCK_MS).toISOString(), ...figures };
    }),
    totals: { blocks: groupCount, ...totals },
    truncated,
  };
}

/** Full hours (UTC, milliseconds since 1970) in which the workspace made a response, in their order. */
async function listHours(database: Database, { workspaceId, agent }: ReportFilter): Promise<number[]> {
  const filter: ReportFilter = { workspaceId, agent, from: null, to: null, timeZone: 'UTC', subagents: 'include' };
  const { rows } = await database.execute<{ hours: number[] }>(sql`
    SELECT coalesce(array_agg(extract(epoch FROM hour)::float8 * 1000 ORDER BY hour), '{}') AS hours FROM (
      SELECT DISTINCT date_bin('1 hour', u.bucket_start, '2000-01-01Z') AS hour
      FROM recount.usage_rollup AS u ${joinSessions(USAGE_SOURCE)}
      WHERE ${toConditions(filter, USAGE_SOURCE)} AND NOT u.is_shared AND u.bucket_start IS NOT NULL
    ) AS hours`);
  return rows[0]?.hours ?? [];
}

function toBlockStarts(hours: readonly number[]): number[] {
  const starts: number[] = [];
  let endMs = Number.NEGATIVE_INFINITY;
  for (const hour of hours) {
    if (hour < endMs) continue;
    starts.push(hour);
    endMs = hour + BLOCK_MS;
  }
  return starts;
}
