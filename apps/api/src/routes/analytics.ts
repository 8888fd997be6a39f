import {
  type ReportQuery as QueryOf,
  REPORT_NAMES,
  REPORT_SCHEMAS,
  REPORTS,
  type ReportBody,
  type ReportFilters,
  type ReportFrame,
  type ReportName,
} from '@recount/contract';
import {
  type Database,
  type ReportFilter,
  type ReportRequest,
  ReportTimeoutError,
  readCaveats,
  readDataRange,
  readReport,
  resolveReportFilter,
  withReportSnapshot,
} from '@recount/db';
import { readModelComparison, readPriceCaveats } from '@recount/ingest';
import type { FastifySchema } from 'fastify';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { workspaceOf } from '../plugins/authentication.ts';
import { ProblemError } from '../problems/problem-error.ts';

/** The parsed query parameters that all reports share. */
interface ReportQuery {
  from?: string | undefined;
  to?: string | undefined;
  time_zone: string;
  agent?: string | undefined;
  project?: string | undefined;
  git_branch?: string | undefined;
  machine?: string | undefined;
  person?: string | undefined;
  model?: string | undefined;
  session_id?: string | undefined;
  subagents?: ReportFilters['subagents'] | undefined;
  group_by?: ReportFilters['group_by'] | undefined;
  limit: number;
}

interface Deps extends Pick<ApiDependencies, 'database' | 'priceSource' | 'now'> {
  /** For each statement of a report. Default 30 s. */
  reportTimeoutMs?: number;
}

const RETRY_AFTER = { 'retry-after': '60' };

/** Adds `GET /v1/analytics/<name>` for each report: over everything that a workspace has ingested, in one snapshot. */
export function addAnalyticsRoutes(app: ApiApp, deps: Deps): void {
  for (const name of REPORT_NAMES) {
    const path = `/v1/analytics/${name}`;
    app.get(path, { config: { scope: 'read' }, schema: toRouteSchema(name) }, async (request) => {
      const query = request.query as ReportQuery;
      const read = (snapshot: Database) => answerReport(deps, snapshot, name, workspaceOf(request), query);
      return await withReportSnapshot(deps.database, read, deps.reportTimeoutMs).catch((error: unknown) => {
        if (!(error instanceof ReportTimeoutError)) throw error;
        const detail = 'Narrow the request to a shorter time, one project, or fewer groups';
        throw new ProblemError('report-timeout', detail, { headers: RETRY_AFTER, cause: error });
      });
    });
  }
}

/** Not inferred, because the framework's types cannot follow schemas that are looked up. */
function toRouteSchema(name: ReportName): FastifySchema {
  const words = name.replaceAll('-', ' ');
  const { query, answer } = REPORT_SCHEMAS[name];
  return {
    operationId: `report${words.replace(/(?:^| )\w/g, (start) => start.trim().toUpperCase())}`,
    summary: `Report on ${words}`,
    description: REPORTS[name].description,
    tags: ['analytics'],
    querystring: query,
    response: { 200: answer },
  };
}

async function answerReport<Name extends ReportName>(
  { priceSource, now = Date.now }: Deps,
  snapshot: Database,
  name: Name,
  workspaceId: string,
  query: ReportQuery,
): Promise<ReportFrame & ReportBody<Name>> {
  const { filter, currencyLabel } = await resolveFilter(snapshot, workspaceId, query);
  const report = await readReport(name, snapshot, filter, query as QueryOf<Name>, {
    nowMs: now(),
    readModelComparison: () => readModelComparison(snapshot, workspaceId, priceSource?.file),
  });
  const { unpriced, ...caveats } = await readCaveats(snapshot, filter);
  const { models, terms, priceDate } = await readPriceCaveats(snapshot, filter, unpriced.models, priceSource?.file);
  const frame = {
    filters: toFilters(filter, query),
    currency_label: currencyLabel,
    caveats: { ...caveats, unpriced: { ...unpriced, models, terms }, price_date: priceDate },
    data_range: isEmpty(report as ReportBody<ReportName>, query) ? await readDataRange(snapshot, filter) : null,
  };
  return { ...frame, ...report };
}

/** True if a report has no rows, or, without groups, only zeros. */
function isEmpty({ rows, totals }: { rows: readonly unknown[]; totals: object }, { group_by }: ReportQuery): boolean {
  return rows.length === 0 || (group_by?.length === 0 && 'sessions' in totals && totals.sessions === 0);
}

/** Throws ProblemError `invalid-request` for a range that ends before it begins. */
export async function resolveFilter(
  snapshot: Database,
  workspaceId: string,
  query: Omit<ReportQuery, 'limit'>,
): Promise<{ filter: ReportFilter; currencyLabel: string }> {
  const request: ReportRequest = {
    from: query.from,
    to: query.to,
    timeZone: query.time_zone,
    agent: query.agent,
    project: query.project,
    gitBranch: query.git_branch,
    machine: query.machine,
    person: query.person,
    model: query.model,
    sessionId: query.session_id,
    subagents: query.subagents ?? 'include',
  };
  const resolved = await resolveReportFilter(snapshot, workspaceId, request);
  const { from, to } = resolved.filter;
  if (from !== null && to !== null && from >= to) throw invalidField('to', 'Not after `from`');
  return resolved;
}

function invalidField(field: string, message: string): ProblemError {
  const errors = [{ location: 'query' as const, field, message }];
  return new ProblemError('invalid-request', `Not valid: ${field}`, { extensions: { errors } });
}

function toFilters(filter: ReportFilter, { group_by = [], limit }: ReportQuery): ReportFilters {
  return {
    from: filter.from,
    to: filter.to,
    time_zone: filter.timeZone,
    agent: filter.agent ?? null,
    project: filter.project ?? null,
    git_branch: filter.gitBranch ?? null,
    machine: filter.machine ?? null,
    person: filter.person ?? null,
    model: filter.model ?? null,
    session_id: filter.sessionId ?? null,
    subagents: filter.subagents,
    group_by,
    limit,
  };
}
