import type { ReportBody, ReportRow } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { FINDING_QUERIES, type FindingKind, type FindingThresholds } from './finding-kinds.ts';
import { SESSION_TITLE } from './read-sessions-report.ts';
import type { ReportPage } from './report-groups.ts';
import { toTokenEstimate } from './tool-call-figures.ts';

type FindingFigures = Omit<FindingKindFigures, 'findings' | 'sessions'>;

type Finding = ReportRow<'findings'>;

type FindingKindFigures = ReportBody<'findings'>['kinds'][number];

export interface FindingsPage extends Pick<ReportPage, 'limit'>, FindingThresholds {
  /** Defaults to all kinds. */
  kind?: FindingKind | undefined;
}

interface Row extends Record<string, unknown> {
  session_id: string;
  title: string | null;
  project: string | null;
  at_ms: number | null;
  message_id: string | null;
  line_number: number | null;
  tool: string | null;
  subject: string | null;
  times: number;
  output_bytes: number;
  tokens: number;
  pause_ms: number | null;
  cost: number | null;
  findings: number;
  sessions: number;
}

const ALL_KINDS = Object.keys(FINDING_QUERIES) as FindingKind[];

/** Findings of all kinds or of one, most expensive first. They overlap, so only figures of one kind add up. */
export async function readFindingsReport(
  database: Database,
  filter: ReportFilter,
  { kind, limit, ...thresholds }: FindingsPage,
): Promise<ReportBody<'findings'>> {
  const rows: Finding[] = [];
  const kinds: FindingKindFigures[] = [];
  for (const each of kind === undefined ? ALL_KINDS : [kind]) {
    const report = await readKind(database, filter, each, limit, thresholds);
    rows.push(...report.rows);
    kinds.push(report.figures);
  }
  const findings = kinds.reduce((sum, figures) => sum + figures.findings, 0);
  const first = rows.sort(compareFindings).slice(0, limit);
  return { rows: first, totals: { findings }, truncated: findings > first.length, kinds };
}

const compareFindings = (a: Finding, b: Finding): number =>
  (b.cost_usd ?? -1) - (a.cost_usd ?? -1) || b.tokens + b.estimated_tokens - (a.tokens + a.estimated_tokens);

/** One statement (a row with the totals of all findings, where each response counts once, then the first findings). */
async function readKind(
  database: Database,
  filter: ReportFilter,
  kind: FindingKind,
  limit: number,
  thresholds: FindingThresholds,
): Promise<{ rows: Finding[]; figures: FindingKindFigures }> {
  const { rows } = await database.execute<Row>(sql`
    WITH found AS MATERIALIZED (
      SELECT row_number() OVER () AS finding, each.* FROM (${FINDING_QUERIES[kind](filter, thresholds)}) AS each
    ), repeat AS MATERIALIZED (
      SELECT DISTINCT finding, session_id, unnest(response_keys) AS response_key FROM found
    ), response_cost AS MATERIALIZED (
      SELECT r.session_id, r.response_key, l.agent, l.cost_usd
      FROM (SELECT DISTINCT session_id, response_key FROM repeat) AS r
      JOIN LATERAL (
        SELECT s.agent FROM recount.sessions AS s
        WHERE s.workspace_id = ${filter.workspaceId} AND s.session_id = r.session_id OFFSET 0
      ) AS s ON true
      JOIN LATERAL (
        SELECT l.agent, l.cost_usd FROM recount.usage_ledger AS l
        WHERE l.workspace_id = ${filter.workspaceId} AND l.agent = s.agent AND l.response_key = r.response_key
        OFFSET 0
      ) AS l ON true
    ), repeat_cost AS (
      SELECT r.finding, sum(c.cost_usd) AS cost FROM repeat AS r JOIN response_cost AS c USING (session_id, response_key)
      GROUP BY 1
    ), shown AS MATERIALIZED (
      SELECT found.*, coalesce(found.cost, repeat_cost.cost)::float8 AS finding_cost
      FROM found LEFT JOIN repeat_cost USING (finding)
      ORDER BY finding_cost DESC NULLS LAST, tokens DESC, output_bytes DESC, session_id, line_number LIMIT ${limit}
    )
    SELECT NULL AS session_id, NULL AS title, NULL AS project, NULL::float8 AS at_ms, NULL AS message_id,
      NULL::float8 AS line_number, NULL AS tool, NULL AS subject, coalesce(sum(times), 0)::float8 AS times,
      coalesce(sum(output_bytes), 0)::float8 AS output_bytes, coalesce(sum(tokens), 0)::float8 AS tokens,
      NULL::float8 AS pause_ms, coalesce(sum(cost), (
        SELECT sum(cost_usd) FROM (SELECT DISTINCT agent, response_key, cost_usd FROM response_cost) AS once
      ))::float8 AS cost, count(*)::float8 AS findings, count(DISTINCT session_id)::float8 AS sessions
    FROM found
    UNION ALL (
      SELECT p.session_id, f.title, f.project, extract(epoch FROM p."timestamp")::float8 * 1000, p.message_id,
        p.line_number, p.tool, p.subject, p.times, coalesce(p.output_bytes, 0)::float8 AS output_bytes, p.tokens::float8 AS tokens,
        p.pause_ms, p.finding_cost AS cost, 1, 1
      FROM shown AS p JOIN LATERAL (
        SELECT ${SESSION_TITLE} AS title, f.project FROM recount.sessions AS f
        WHERE f.workspace_id = ${filter.workspaceId} AND f.session_id = p.session_id OFFSET 0
      ) AS f ON true
      ORDER BY cost DESC NULLS LAST, tokens DESC, output_bytes DESC, p.session_id, p.line_number
    )`);
  const [total, ...findingRows] = rows;
  if (total === undefined) throw new Error('An aggregate without a row');
  return {
    rows: findingRows.map((row) => ({
      ...toFigures(kind, row),
      session_id: row.session_id,
      title: row.title,
      project: row.project,
      timestamp: row.at_ms === null ? null : new Date(row.at_ms).toISOString(),
      message_id: row.message_id,
      line_number: row.line_number,
      tool: row.tool,
      subject: row.subject,
      pause_ms: row.pause_ms,
    })),
    figures: { ...toFigures(kind, total), findings: total.findings, sessions: total.sessions },
  };
}

const toFigures = (kind: FindingKind, { times, output_bytes, tokens, cost }: Row): FindingFigures => ({
  kind,
  times,
  estimated_tokens: toTokenEstimate(output_bytes),
  tokens,
  cost_usd: cost,
});
