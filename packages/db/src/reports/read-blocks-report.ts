import type { ReportRow } from '@recount/contract';
import { toUsageFigures, type UsageSums } from '@recount/core';
import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { GroupPart } from './group-part.ts';
import { USAGE_SOURCE, USAGE_TABLE } from './read-usage-report.ts';
import { type GroupQuery, type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import { joinSessions, toConditions } from './report-source.ts';
import { ROLLUP_SUMS, sumUsage } from './usage-figures.ts';

const HOUR_MS = 60 * 60_000;
export const BLOCK_MS = 5 * HOUR_MS;

/** No transcript contains a later time. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

type BlockFigures = Omit<Block, 'start' | 'end'>;

type Block = Omit<ReportRow<'blocks'>, 'is_active'>;

type Sums = UsageSums & { sessions: number; models: string[] };

const AGGREGATES = {
  models: sql`coalesce(array_agg(DISTINCT model ORDER BY model) FILTER (WHERE model IS NOT NULL), '{}')`,
  ...sumUsage(),
};
const toFigures = (sums: Sums): BlockFigures => ({
  sessions: sums.sessions,
  models: sums.models,
  ...toUsageFigures(sums),
});

/**
 * Blocks of five hours that begin within the filter's time. Each at the full hour (UTC) of the first response after the
 * end of the previous one. Of the filter only the agent affects where blocks begin; the other conditions select what is
 * counted.
 */
export async function readBlocksReport(
  database: Database,
  filter: ReportFilter,
  { limit }: Pick<ReportPage, 'limit'>,
): Promise<ReportRows<Block, BlockFigures & { blocks: number }>> {
  const starts = await listStarts(database, filter);
  // Conditions beyond time and agent may leave blocks empty; these are not rows.
  const isPaged = starts.length > limit && !hasFurtherConditions(filter);
  const edges = isPaged
    ? starts.slice(0, limit + 1)
    : [...starts, ...starts.slice(-1).map((start) => start + BLOCK_MS)];
  const { rows, totals, truncated, groupCount } = await readGroups<Sums, BlockFigures, { block: number }>(
    database,
    { ...filter, from: null, to: null },
    { limit },
    toQuery(filter, edges),
  );
  const blocks = rows.map(({ block, ...figures }) => {
    const startMs = starts[block - 1] ?? Number.NaN;
    return { start: toIso(startMs), end: toIso(startMs + BLOCK_MS), ...figures };
  });
  if (!isPaged) return { rows: blocks, totals: { blocks: groupCount, ...totals }, truncated };
  const all = await readTotals(database, filter, starts);
  return { rows: blocks, totals: { blocks: starts.length, ...all }, truncated: true };
}

const hasFurtherConditions = ({
  project,
  repository,
  gitBranch,
  machine,
  person,
  attributed,
  model,
  kindOfWork,
  sessionId,
  subagents,
}: ReportFilter): boolean =>
  [project, repository, gitBranch, machine, person, attributed, model, kindOfWork, sessionId].some(
    (value) => value !== undefined,
  ) || subagents !== 'include';

const toIso = (ms: number): string => new Date(Math.min(ms, LAST_MS)).toISOString();

/** Boundaries of blocks for a query; no response comes after the last possible block. */
const toEdge = (ms: number): string => (ms > LAST_MS ? 'infinity' : new Date(ms).toISOString());

/**
 * The beginning of the block that a moment is in, in milliseconds since 1970; undefined if it is in none. Unlike in the
 * report, the people of the filter affect where blocks begin, as each has an own limit.
 */
export async function findBlockStart(
  database: Database,
  filter: ReportFilter,
  atMs: number,
): Promise<number | undefined> {
  const { person, attributed } = filter;
  const people = { ...(person !== undefined && { person }), ...(attributed !== undefined && { attributed }) };
  const start = (await listStarts(database, { ...filter, from: null, to: toIso(atMs) }, people)).at(-1);
  return start === undefined || start + BLOCK_MS <= atMs ? undefined : start;
}

/** Blocks between pairs of edges, from 15-minute buckets and, for their sessions, from days. */
function toQuery({ workspaceId }: ReportFilter, edgesMs: readonly number[]): GroupQuery<Sums, BlockFigures> {
  const [first = null, ...others] = edgesMs.map(toEdge);
  const last = others.at(-1) ?? null;
  const edges = sql`${sql.param(edgesMs.map(toEdge))}::timestamptz[]`;
  const toBlock = (time: string) => sql`width_bucket(${sql.raw(time)}, ${edges})`;
  const columns = sql.raw('workspace_id, session_id, model, is_subagent, git_branch, agent_version, kind_of_work');
  const ofBuckets = sql`NOT u.is_shared AND u.bucket_start >= ${first}::timestamptz AND u.bucket_start < ${last}::timestamptz`;
  // A day's first and last bucket determine their blocks. In between, only few sessions' days have others. Periods of
  // teams begin and end with days, so that any bucket of a day tells whose it is.
  const sessions = sql`(
    WITH day AS MATERIALIZED (
      SELECT ${columns}, first_bucket_start AS bucket_start, ${toBlock('first_bucket_start')} AS first_block,
        ${toBlock('last_bucket_start')} AS last_block
      FROM recount.usage_day_rollup
      WHERE workspace_id = ${workspaceId} AND NOT is_shared AND last_bucket_start >= ${first}::timestamptz
        AND first_bucket_start > ${first}::timestamptz - interval '24 hours' AND first_bucket_start < ${last}::timestamptz
    )
    SELECT ${columns}, bucket_start, first_block AS block FROM day
    UNION ALL
    SELECT ${columns}, bucket_start, last_block FROM day WHERE last_block > first_block
    UNION ALL
    SELECT ${columns}, bucket_start, ${toBlock('bucket_start')} FROM recount.usage_rollup AS u
    WHERE workspace_id = ${workspaceId} AND ${ofBuckets}
      AND session_id IN (SELECT session_id FROM day WHERE last_block > first_block + 1)
  ) AS u`;
  return {
    parts: [
      {
        source: USAGE_SOURCE,
        // Blocks begin at full hours.
        table: (scope) => USAGE_TABLE({ ...scope, groupBy: ['hour'] }),
        keys: { block: toBlock('u.bucket_start') },
        groupedColumns: ['model'],
        columns: { model: sql`u.model`, ...ROLLUP_SUMS },
        where: ofBuckets,
      },
    ],
    countsSessions: {
      source: USAGE_SOURCE,
      table: sessions,
      keys: { block: sql`u.block` },
      columns: {},
      where: sql`u.block BETWEEN 1 AND ${others.length}::int`,
    },
    aggregates: AGGREGATES,
    order: sql`g.block`,
    toFigures,
  };
}

const OF_ALL_BLOCKS: GroupPart = {
  source: USAGE_SOURCE,
  table: USAGE_TABLE,
  groupedColumns: ['model'],
  columns: { model: sql`u.model`, ...ROLLUP_SUMS },
  where: sql`NOT u.is_shared AND u.bucket_start IS NOT NULL`,
  counted: 'credited',
};

/**
 * Totals of all blocks, from days. Every response of the agent between the first and the last block is in one of them.
 */
async function readTotals(database: Database, filter: ReportFilter, starts: readonly number[]): Promise<BlockFigures> {
  const [first] = starts;
  const end = (starts.at(-1) ?? 0) + BLOCK_MS;
  const span = {
    from: filter.from === null || first === undefined ? null : toIso(first),
    to: filter.to === null || end > LAST_MS ? null : toIso(end),
  };
  const { totals } = await readGroups<Sums, BlockFigures>(
    database,
    { ...filter, ...span },
    { limit: 1 },
    { parts: [OF_ALL_BLOCKS], countsSessions: true, aggregates: AGGREGATES, order: sql`responses`, toFigures },
  );
  return totals;
}

/**
 * Start times of blocks within the filter's time, in milliseconds since 1970, in order. Each block is found from the
 * end of the previous one.
 */
async function listStarts(
  database: Database,
  filter: ReportFilter,
  people: Pick<ReportFilter, 'person' | 'attributed'> = {},
): Promise<number[]> {
  const { workspaceId, agent, from, to } = filter;
  const ofAgents = agent === undefined ? {} : { agent };
  const everything: ReportFilter = {
    ...{ workspaceId, ...ofAgents, ...people, from: null, to: null },
    ...{ timeZone: 'UTC', subagents: 'include' },
  };
  const selectStart = (after: SQL) => sql`(
    SELECT date_bin('1 hour', u.bucket_start, '2000-01-01Z')
    FROM recount.usage_rollup AS u ${joinSessions(USAGE_SOURCE, filter)}
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
  return rows[0]?.starts_ms ?? [];
}
