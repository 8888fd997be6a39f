import type { Database } from '../../database.ts';
import { type SQL, sql } from '../../drizzle.cjs';
import { USAGE_SOURCE } from './read-usage-report.ts';
import { joinSessions, type ReportFilter, toConditions } from './report-filter.ts';
import { type GroupPart, type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import { ROLLUP_SUMS, sumUsage, toUsageFigures, type UsageFigures, type UsageSums } from './usage-figures.ts';

const HOUR_MS = 60 * 60_000;
export const BLOCK_MS = 5 * HOUR_MS;

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
  const starts = await listStarts(database, filter);
  const usage: GroupPart = {
    source: USAGE_SOURCE,
    table: sql`recount.usage_rollup AS u`,
    keys: { block: sql`width_bucket(u.bucket_start, ${sql.param(starts)}::timestamptz[])` },
    groupedColumns: ['model'],
    columns: { model: sql`u.model`, ...ROLLUP_SUMS },
    where: sql`NOT u.is_shared AND u.bucket_start >= ${starts.at(0) ?? null}::timestamptz
      AND u.bucket_start < ${starts.at(-1) ?? null}::timestamptz + interval '5 hours'`,
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
      const start = Date.parse(starts[block - 1] ?? '');
      return { start: new Date(start).toISOString(), end: new Date(start + BLOCK_MS).toISOString(), ...figures };
    }),
    totals: { blocks: groupCount, ...totals },
    truncated,
  };
}

/** Beginnings of blocks within the filter's time, ISO 8601, in their order: each block is found from the end of the one before. */
async function listStarts(database: Database, filter: ReportFilter): Promise<string[]> {
  const { workspaceId, agent, from, to } = filter;
  const everything: ReportFilter = { workspaceId, agent, from: null, to: null, timeZone: 'UTC', subagents: 'include' };
  const selectStart = (after: SQL) => sql`(
    SELECT date_bin('1 hour', u.bucket_start, '2000-01-01Z')
    FROM recount.usage_rollup AS u ${joinSessions(USAGE_SOURCE)}
    WHERE ${toConditions(everything, USAGE_SOURCE)} AND NOT u.is_shared AND u.bucket_start >= ${after}
    ORDER BY u.bucket_start LIMIT 1)`;
  const { rows } = await database.execute<{ starts_ms: number[] }>(sql`
    WITH RECURSIVE block AS (
      SELECT ${selectStart(sql`'-infinity'`)} AS start
      UNION ALL
      SELECT ${selectStart(sql`block.start + interval '5 hours'`)} FROM block
      WHERE block.start < coalesce(${to}::timestamptz, 'infinity')
    )
    SELECT coalesce(array_agg(extract(epoch FROM start)::float8 * 1000 ORDER BY start), '{}') AS starts_ms FROM block
    WHERE start >= coalesce(${from}::timestamptz, '-infinity') AND start < coalesce(${to}::timestamptz, 'infinity')`);
  return (rows[0]?.starts_ms ?? []).map((ms) => new Date(ms).toISOString());
}
