import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { StoredFindingKind } from '../schema/findings.ts';
import { LARGE_RESULT_BYTES } from '../schema/usage.ts';
import { SESSION_SOURCE } from './read-sessions-report.ts';
import { isShort, joinSessions, toConditions, toReportSource } from './report-source.ts';
import { TOOL_CALL_SOURCE } from './tool-call-figures.ts';

/** A session quiet for less than this may still be running. */
const RUNNING_TIME = sql.raw("interval '1 hour'");

export interface FindingThresholds {
  minResultBytes: number;
  minSessionCostUsd: number;
  /** Milliseconds since 1970. */
  nowMs: number;
}

/** A SELECT with one row for each finding of a kind, see `readFindingsReport`. */
type FindingQuery = (filter: ReportFilter, thresholds: FindingThresholds) => SQL;

const STORED_COLUMNS =
  sql.raw(`x.session_id, x.message_id, x.line_number, x."timestamp", x.tool_name AS tool, x.subject, x.times,
      x.output_bytes, x.tokens, x.pause_ms::float8 AS pause_ms, x.response_keys, x.cost_usd AS cost`);

/**
 * A finding is filtered by its beginning, because filters select findings, and do not create any from what they
 * exclude.
 */
const readStored =
  (kind: StoredFindingKind, own: readonly ('git_branch' | 'model')[]): FindingQuery =>
  (filter) => {
    const source = toReportSource('x', { time: 'timestamp', own });
    return sql`
    SELECT ${STORED_COLUMNS} FROM recount.findings AS x ${joinSessions(source, filter)}
    WHERE ${toConditions(filter, source)} AND x.kind = ${sql.raw(`'${kind}'`)}`;
  };

/**
 * Sessions of a short time are fewer than findings of all times. They are not looked up by these, but found by their
 * index.
 */
const readUnfinishedSessions: FindingQuery = (filter, { nowMs }) => sql`
    SELECT ${STORED_COLUMNS} FROM recount.findings AS x
    JOIN LATERAL (
      SELECT * FROM recount.sessions
      WHERE workspace_id = ${filter.workspaceId} AND session_id = x.session_id ${isShort(filter) ? sql`` : sql`OFFSET 0`}
    ) AS f ON true ${joinSessions(SESSION_SOURCE, filter)}
    WHERE ${toConditions(filter, SESSION_SOURCE)} AND x.workspace_id = ${filter.workspaceId} AND x.kind = 'unfinished-session'
      AND f.last_timestamp < ${new Date(nowMs).toISOString()}::timestamptz - ${RUNNING_TIME}`;

/** There is an index on results that are large enough. */
const readLargeResults: FindingQuery = (filter, { minResultBytes }) => sql`
    SELECT c.session_id, c.message_id, c.line_number, c."timestamp", c.tool_name AS tool,
      coalesce(c.file_path, c.program) AS subject, 1 AS times, c.output_bytes, 0 AS tokens, NULL::float8 AS pause_ms,
      NULL::text[] AS response_keys, NULL::numeric AS cost
    FROM recount.tool_calls AS c ${joinSessions(TOOL_CALL_SOURCE, filter)}
    WHERE ${toConditions(filter, TOOL_CALL_SOURCE)} AND c.is_own AND c.output_bytes >= ${minResultBytes}
      ${minResultBytes >= LARGE_RESULT_BYTES ? sql.raw(`AND c.output_bytes >= ${LARGE_RESULT_BYTES}`) : sql``}`;

/** A sum of costs as float8 is at least this part of the exact sum. */
const ROUNDED = 1 - 1e-9;

/** Leaves only sessions `f` that may cost this much. Floating point adds up faster than the exact sums. */
const joinCandidates = (filter: ReportFilter, minCostUsd: number): SQL => sql`
    JOIN (
      SELECT session_id FROM recount.usage_day_rollup WHERE workspace_id = ${filter.workspaceId} AND NOT is_shared
      GROUP BY session_id HAVING sum(cost_units::float8) >= ${minCostUsd * 1e10 * ROUNDED}
    ) AS candidate ON candidate.session_id = f.session_id`;

const readExpensiveSessions: FindingQuery = (filter, { minSessionCostUsd }) => sql`
    SELECT f.session_id, NULL::text AS message_id, NULL::int AS line_number, f.first_timestamp AS "timestamp",
      NULL::text AS tool, NULL::text AS subject, 1 AS times, 0 AS output_bytes, coalesce(own.tokens, 0) AS tokens,
      NULL::float8 AS pause_ms, NULL::text[] AS response_keys, own.cost
    FROM recount.sessions AS f ${joinSessions(SESSION_SOURCE, filter)}
    ${isShort(filter) ? sql`` : joinCandidates(filter, minSessionCostUsd)}
    JOIN LATERAL (
      SELECT sum(u.tokens_in + u.tokens_out + u.cache_read + u.cache_write) AS tokens,
        CASE WHEN sum(u.responses) > sum(u.unpriced_responses) THEN sum(u.cost_units) / 1e10 END AS cost
      FROM recount.usage_day_rollup AS u
      WHERE u.workspace_id = ${opaqueWorkspaceId(filter.workspaceId)} AND u.session_id = f.session_id AND NOT u.is_shared
      OFFSET 0
    ) AS own ON own.cost >= ${minSessionCostUsd}
    WHERE ${toConditions(filter, SESSION_SOURCE)}`;

export const FINDING_QUERIES = {
  'repeated-call': readStored('repeated-call', ['model']),
  'repeated-error': readStored('repeated-error', ['model']),
  'repeated-read': readStored('repeated-read', ['model']),
  'large-result': readLargeResults,
  'cold-cache': readStored('cold-cache', ['git_branch', 'model']),
  'unfinished-session': readUnfinishedSessions,
  'expensive-session': readExpensiveSessions,
} satisfies Readonly<Record<StoredFindingKind | 'large-result' | 'expensive-session', FindingQuery>>;

export type FindingKind = keyof typeof FINDING_QUERIES;
