import {
  type MeantNames,
  type ReportQuery as QueryOf,
  REPORT_NAMES,
  REPORT_SCHEMAS,
  REPORTS,
  type ReportAnswer,
  type ReportBody,
  type ReportBreakdown,
  type ReportFilters,
  type ReportName,
} from '@recount/contract';
import {
  type Database,
  NAME_PARAMETERS,
  type Names,
  type ReportFilter,
  type ReportRequest,
  ReportTimeoutError,
  type ResolvedNames,
  readCaveats,
  readDataRange,
  readReport,
  resolveReportFilter,
  type UnmatchedName,
  withReportSnapshot,
} from '@recount/db';
import { readModelComparison, readPriceCaveats } from '@recount/ingest';
import type { FastifyContextConfig, FastifyRequest, FastifySchema } from 'fastify';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { workspaceOf } from '../plugins/authentication.ts';
import { ProblemError } from '../problems/problem-error.ts';

/** The parsed query parameters that all reports share. */
export interface ReportQuery {
  from?: string | undefined;
  to?: string | undefined;
  time_zone: string;
  agent?: Names | undefined;
  repository?: Names | undefined;
  project?: Names | undefined;
  git_branch?: Names | undefined;
  machine?: Names | undefined;
  person?: Names | undefined;
  team?: Names | undefined;
  cost_centre?: Names | undefined;
  kind_of_work?: Names | undefined;
  model?: Names | undefined;
  session_id?: string | undefined;
  subagents?: ReportFilters['subagents'] | undefined;
  group_by?: ReportFilters['group_by'] | undefined;
  breakdown?: ReportFilters['group_by'][] | undefined;
  limit: number;
}

export interface ReportDeps extends Pick<ApiDependencies, 'database' | 'priceSource' | 'now'> {
  /** For each statement of a report. Default 30 s. */
  reportTimeoutMs?: number;
}

/** The reader of a report. */
interface ReportReader {
  workspaceId: string;
  onlyNames: FastifyRequest['onlyNames'];
  hiddenOrder: FastifyRequest['hiddenOrder'];
}

const RETRY_AFTER = { 'retry-after': '60' };

/** Adds `GET /v1/analytics/<name>` for each report: over everything that a workspace has ingested, in one snapshot. */
export function addAnalyticsRoutes(app: ApiApp, deps: ReportDeps): void {
  for (const name of REPORT_NAMES) {
    const path = `/v1/analytics/${name}`;
    app.get(path, { config: toRouteConfig(name), schema: toRouteSchema(name) }, (request) => {
      const { onlyNames, hiddenOrder } = request;
      const reader = { workspaceId: workspaceOf(request), onlyNames, hiddenOrder };
      return readReports(deps, (snapshot) => answerReport(deps, snapshot, name, reader, request.query as ReportQuery));
    });
  }
}

/** Reports whose rows are texts are limited to their reader's own sessions; the others show figures of everyone. */
const toRouteConfig = (name: ReportName): FastifyContextConfig => {
  const isOfTexts = 'isOfTexts' in REPORTS[name];
  return { scope: 'read', reveals: isOfTexts ? 'texts' : 'figures', isLimitable: isOfTexts };
};

/** Reads reports of one snapshot. Throws ProblemError `report-timeout`. */
export async function readReports<T>(deps: ReportDeps, read: (snapshot: Database) => Promise<T>): Promise<T> {
  return await withReportSnapshot(deps.database, read, deps.reportTimeoutMs).catch((error: unknown) => {
    if (!(error instanceof ReportTimeoutError)) throw error;
    const detail = 'Narrow the request to a shorter time, one project, or fewer groups';
    throw new ProblemError('report-timeout', detail, { headers: RETRY_AFTER, cause: error });
  });
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

/** A report as its route answers it. `query` is as the route's schema returns it. */
export async function answerReport<Name extends ReportName>(
  { priceSource, now = Date.now }: ReportDeps,
  snapshot: Database,
  name: Name,
  { workspaceId, onlyNames, hiddenOrder }: ReportReader,
  query: ReportQuery,
): Promise<ReportAnswer<Name>> {
  const resolved = await resolveFilter(snapshot, workspaceId, query, onlyNames);
  const { unmatched, currencyLabel } = resolved;
  const filter = { ...resolved.filter, hiddenOrder: hiddenOrder ?? undefined };
  const context = {
    nowMs: now(),
    readModelComparison: () => readModelComparison(snapshot, workspaceId, priceSource?.file),
  };
  const read = (groups: Pick<ReportQuery, 'group_by'>): Promise<ReportBody<Name>> =>
    readReport(name, snapshot, filter, { ...query, ...groups } as QueryOf<Name>, context);
  const report = await read({});
  const breakdowns: ReportBreakdown<Name>[] = [];
  for (const groupBy of query.breakdown ?? []) {
    const { rows, truncated } = await read({ group_by: groupBy });
    breakdowns.push({ group_by: groupBy, rows, truncated });
  }
  const { unpriced, ...caveats } = await readCaveats(snapshot, filter);
  const { models, terms, priceDate } = await readPriceCaveats(snapshot, filter, unpriced.models, priceSource?.file);
  const frame = {
    filters: toFilters(filter, unmatched, query),
    currency_label: currencyLabel,
    caveats: { ...caveats, unpriced: { ...unpriced, models, terms }, price_date: priceDate },
    data_range: isEmpty(report as ReportBody<ReportName>, query) ? await readDataRange(snapshot, filter) : null,
  };
  return { ...frame, ...report, ...(query.breakdown !== undefined && { breakdowns }) };
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
  onlyNames: readonly string[] | null,
): Promise<Awaited<ReturnType<typeof resolveReportFilter>>> {
  const resolved = await resolveReportFilter(snapshot, workspaceId, {
    ...toReportRequest(query),
    onlyNames: onlyNames ?? undefined,
  });
  const { from, to } = resolved.filter;
  if (from !== null && to !== null && from >= to) throw invalidField('to', 'Not after `from`');
  return resolved;
}

function toReportRequest(query: Omit<ReportQuery, 'limit'>): ReportRequest {
  return {
    from: query.from,
    to: query.to,
    timeZone: query.time_zone,
    agent: query.agent,
    project: query.project,
    repository: query.repository,
    gitBranch: query.git_branch,
    machine: query.machine,
    person: query.person,
    team: query.team,
    costCentre: query.cost_centre,
    kindOfWork: query.kind_of_work,
    model: query.model,
    sessionId: query.session_id,
    subagents: query.subagents ?? 'include',
  };
}

function invalidField(field: string, message: string): ProblemError {
  const errors = [{ location: 'query' as const, field, message }];
  return new ProblemError('invalid-request', `Not valid: ${field}`, { extensions: { errors } });
}

/** The meaning of filters by name, as answers say it. */
export function toMeantNames(names: ResolvedNames, unmatched: readonly UnmatchedName[]): MeantNames {
  const { agent = null, repository = null, project = null, gitBranch = null } = names;
  const { machine = null, person = null, team = null, costCentre = null, model = null, kindOfWork = null } = names;
  return {
    ...{ agent, repository, project, git_branch: gitBranch, machine, person, team, cost_centre: costCentre, model },
    kind_of_work: kindOfWork,
    unmatched: unmatched.map(({ field, candidates, ...rest }) => ({
      ...rest,
      field: NAME_PARAMETERS[field],
      candidates: [...candidates],
    })),
  };
}

function toFilters(
  filter: ReportFilter,
  unmatched: readonly UnmatchedName[],
  { group_by = [], limit }: ReportQuery,
): ReportFilters {
  return {
    from: filter.from,
    to: filter.to,
    time_zone: filter.timeZone,
    ...toMeantNames(filter, unmatched),
    session_id: filter.sessionId ?? null,
    subagents: filter.subagents,
    group_by,
    limit,
  };
}
