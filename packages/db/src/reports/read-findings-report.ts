import type { ReportBody, ReportRow } from '@recount/contract';
import { toSessionTitle } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { type DismissedSubjects, isDismissed, readDismissedSubjects } from '../findings/finding-decisions.ts';
import { selectTitleSources, type TitledRow } from '../transcripts/title-sources.ts';
import { FINDING_QUERIES, type FindingKind, type FindingThresholds } from './finding-kinds.ts';
import type { ReportPage } from './report-groups.ts';
import { toTokenEstimate } from './tool-call-figures.ts';

type FindingFigures = Pick<FindingKindFigures, 'kind' | 'times' | 'estimated_tokens' | 'tokens' | 'cost_usd'>;

type Finding = ReportRow<'findings'>;

type FindingKindFigures = ReportBody<'findings'>['kinds'][number];

export interface FindingsPage extends Pick<ReportPage, 'limit'>, FindingThresholds {
  /** Defaults to all kinds. */
  kind?: FindingKind | undefined;
  /** Which findings are listed. */
  dismissed?: 'exclude' | 'include' | 'only';
}

interface Row extends Record<string, unknown>, TitledRow {
  session_id: string;
  project: string | null;
  repository: string | null;
  person: string | null;
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
  is_dismissed: boolean;
  dismissed_findings: number;
  dismissed_cost: number | null;
}

const ALL_KINDS = Object.keys(FINDING_QUERIES) as FindingKind[];

/** Findings of all kinds or of one, most expensive first. They overlap, so only figures of one kind add up. */
export async function readFindingsReport(
  database: Database,
  filter: ReportFilter,
  { kind, limit, dismissed = 'exclude', ...thresholds }: FindingsPage,
): Promise<ReportBody<'findings'>> {
  const subjects = await readDismissedSubjects(database, filter.workspaceId, filter.people);
  const rows: Finding[] = [];
  const kinds: FindingKindFigures[] = [];
  for (const each of kind === undefined ? ALL_KINDS : [kind]) {
    const report = await readKind(database, filter, each, { limit, dismissed, subjects, ...thresholds });
    rows.push(...report.rows);
    kinds.push(report.figures);
  }
  const sum = (figure: 'findings' | 'dismissed_findings'): number =>
    kinds.reduce((total, figures) => total + figures[figure], 0);
  const dismissedFindings = sum('dismissed_findings');
  const findings = (dismissed === 'only' ? 0 : sum('findings')) + (dismissed === 'exclude' ? 0 : dismissedFindings);
  const first = rows.sort(compareFindings).slice(0, limit);
  return {
    rows: first,
    totals: { findings, dismissed_findings: dismissedFindings },
    truncated: findings > first.length,
    kinds,
  };
}

const compareFindings = (a: Finding, b: Finding): number =>
  (b.cost_usd ?? -1) - (a.cost_usd ?? -1) || b.tokens + b.estimated_tokens - (a.tokens + a.estimated_tokens);

const IS_LISTED = { exclude: sql`WHERE NOT found.is_dismissed`, include: sql``, only: sql`WHERE found.is_dismissed` };

/**
 * One statement (a row with the totals of all findings, where each response counts once, then the first findings). A
 * response of two findings counts as dismissed if both are.
 */
async function readKind(
  database: Database,
  filter: ReportFilter,
  kind: FindingKind,
  { limit, dismissed, subjects, ...thresholds }: Required<Omit<FindingsPage, 'kind'>> & { subjects: DismissedSubjects },
): Promise<{ rows: Finding[]; figures: FindingKindFigures }> {
  const { rows } = await database.execute<Row>(sql`
    WITH found AS MATERIALIZED (
      SELECT row_number() OVER () AS finding, x.*, ${isDismissed(subjects, kind, filter.workspaceId)} AS is_dismissed
      FROM (${FINDING_QUERIES[kind](filter, thresholds)}) AS x
    ), repeat AS MATERIALIZED (
      SELECT DISTINCT finding, session_id, is_dismissed, unnest(response_keys) AS response_key FROM found
    ), response_cost AS MATERIALIZED (
      SELECT r.session_id, r.response_key, r.is_dismissed, l.agent, l.cost_usd
      FROM (
        SELECT session_id, response_key, bool_and(is_dismissed) AS is_dismissed FROM repeat GROUP BY 1, 2
      ) AS r
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
    ), once AS (
      SELECT agent, response_key, cost_usd, bool_and(is_dismissed) AS is_dismissed FROM response_cost GROUP BY 1, 2, 3
    ), shown AS MATERIALIZED (
      SELECT found.*, coalesce(found.cost, repeat_cost.cost)::float8 AS finding_cost
      FROM found LEFT JOIN repeat_cost USING (finding) ${IS_LISTED[dismissed]}
      ORDER BY finding_cost DESC NULLS LAST, tokens DESC, output_bytes DESC, session_id, line_number LIMIT ${limit}
    )
    SELECT NULL AS session_id, NULL AS title_sources, NULL AS project, NULL AS repository, NULL AS person,
      NULL::float8 AS at_ms, NULL AS message_id,
      NULL::float8 AS line_number, NULL AS tool, NULL AS subject,
      coalesce(sum(times) FILTER (WHERE NOT is_dismissed), 0)::float8 AS times,
      coalesce(sum(output_bytes) FILTER (WHERE NOT is_dismissed), 0)::float8 AS output_bytes,
      coalesce(sum(tokens) FILTER (WHERE NOT is_dismissed), 0)::float8 AS tokens, NULL::float8 AS pause_ms,
      coalesce(sum(cost) FILTER (WHERE NOT is_dismissed), (
        SELECT sum(cost_usd) FROM once WHERE NOT is_dismissed
      ))::float8 AS cost, count(*) FILTER (WHERE NOT is_dismissed)::float8 AS findings,
      count(DISTINCT session_id) FILTER (WHERE NOT is_dismissed)::float8 AS sessions, false AS is_dismissed,
      count(*) FILTER (WHERE is_dismissed)::float8 AS dismissed_findings,
      coalesce(sum(cost) FILTER (WHERE is_dismissed), (
        SELECT sum(cost_usd) FROM once WHERE is_dismissed
      ))::float8 AS dismissed_cost
    FROM found
    UNION ALL (
      SELECT p.session_id, f.title_sources, f.project, f.repository, f.person, extract(epoch FROM p."timestamp")::float8 * 1000, p.message_id,
        p.line_number, p.tool, p.subject, p.times, coalesce(p.output_bytes, 0)::float8 AS output_bytes, p.tokens::float8 AS tokens,
        p.pause_ms, p.finding_cost AS cost, 1, 1, p.is_dismissed, 0, NULL
      FROM shown AS p JOIN LATERAL (
        SELECT ${selectTitleSources(filter.workspaceId)} AS title_sources, f.project, f.repository, f.person FROM recount.sessions AS f
        WHERE f.workspace_id = ${filter.workspaceId} AND f.session_id = p.session_id OFFSET 0
      ) AS f ON true
      ORDER BY cost DESC NULLS LAST, tokens DESC, output_bytes DESC, p.session_id, p.line_number
    )`);
  const [total, ...findingRows] = rows;
  if (total === undefined) throw new Error('An aggregate without a row');
  return {
    rows: toFindings(kind, findingRows, filter),
    figures: {
      ...toFigures(kind, total),
      findings: total.findings,
      sessions: total.sessions,
      dismissed_findings: total.dismissed_findings,
      dismissed_cost_usd: total.dismissed_findings === 0 ? 0 : total.dismissed_cost,
    },
  };
}

function toFindings(kind: FindingKind, rows: readonly Row[], { people }: ReportFilter): Finding[] {
  const persons = new Map(people?.names.map((name) => [name.nameKey, name.person]));
  return rows.map((row) => ({
    ...toFigures(kind, row),
    session_id: row.session_id,
    title: toSessionTitle(row.title_sources),
    project: row.project,
    repository: row.repository,
    person: row.person === null ? null : (persons.get(row.person.toLowerCase()) ?? row.person),
    timestamp: row.at_ms === null ? null : new Date(row.at_ms).toISOString(),
    message_id: row.message_id,
    line_number: row.line_number,
    tool: row.tool,
    subject: row.subject,
    pause_ms: row.pause_ms,
    is_dismissed: row.is_dismissed,
  }));
}

const toFigures = (kind: FindingKind, { times, output_bytes, tokens, cost }: Row): FindingFigures => ({
  kind,
  times,
  estimated_tokens: toTokenEstimate(output_bytes),
  tokens,
  cost_usd: cost,
});
