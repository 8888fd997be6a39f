import type { DataRange, ReportCaveats, ReportFilters } from '@recount/contract';
import {
  type Database,
  type ReportFilter,
  type ReportRequest,
  ReportTimeoutError,
  readCaveats,
  readDataRange,
  resolveReportFilter,
  withReportSnapshot,
} from '@recount/db';
import { readPriceCaveats } from '@recount/ingest';
import type { FastifySchema } from 'fastify';
import type { z } from 'zod';
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

/** The data that accompany the rows of every report. */
interface ReportFrame {
  filters: ReportFilters;
  currency_label: string;
  caveats: ReportCaveats;
  data_range: DataRange | null;
}

/** Adds `GET /v1/analytics/<name>`: `read` returns the answer without its frame. */
type AddReport = <Query extends ReportQuery, Report extends ReportFrame>(
  name: string,
  querySchema: z.ZodType<Query>,
  reportSchema: z.ZodType<Report> & { description?: string | undefined },
  read: (snapshot: Database, filter: ReportFilter, query: Query) => Promise<Omit<Report, keyof ReportFrame>>,
) => void;

export interface ReportDependencies extends Pick<ApiDependencies, 'database' | 'priceSource'> {
  /** For each statement of a report. Default 30 s. */
  reportTimeoutMs?: number;
}

const RETRY_AFTER = { 'retry-after': '60' };

export function createReportRoutes(
  app: ApiApp,
  { database, reportTimeoutMs, priceSource }: ReportDependencies,
): AddReport {
  return (name, querySchema, reportSchema, read) => {
    const words = name.replaceAll('-', ' ');
    // Not inferred, because the framework's types cannot follow schemas that are parameters.
    const schema: FastifySchema = {
      operationId: `report${words.replace(/(?:^| )\w/g, (start) => start.trim().toUpperCase())}`,
      summary: `Report on ${words}`,
      description: reportSchema.description ?? '',
      tags: ['analytics'],
      querystring: querySchema,
      response: { 200: reportSchema },
    };
    app.get(`/v1/analytics/${name}`, { config: { scope: 'read' }, schema }, async (request) => {
      const query = request.query as z.output<typeof querySchema>;
      const readReport = async (snapshot: Database) => {
        const { filter, currencyLabel } = await resolveFilter(snapshot, workspaceOf(request), query);
        const report = await read(snapshot, filter, query);
        const { unpriced, ...caveats } = await readCaveats(snapshot, filter);
        const { models, terms, priceDate } = await readPriceCaveats(
          snapshot,
          filter,
          unpriced.models,
          priceSource?.file,
        );
        const dataRange = isEmpty(report, query) ? await readDataRange(snapshot, filter) : null;
        const frame = {
          filters: toFilters(filter, query),
          currency_label: currencyLabel,
          caveats: { ...caveats, unpriced: { ...unpriced, models, terms }, price_date: priceDate },
        };
        return { ...frame, data_range: dataRange, ...report };
      };
      return await withReportSnapshot(database, readReport, reportTimeoutMs).catch((error: unknown) => {
        if (!(error instanceof ReportTimeoutError)) throw error;
        const detail = 'Narrow the request to a shorter time, one project, or fewer groups';
        throw new ProblemError('report-timeout', detail, { headers: RETRY_AFTER, cause: error });
      });
    });
  };
}

/** True if a report has no rows, or, without groups, only zeros. */
function isEmpty(
  report: { rows?: readonly unknown[]; totals?: { sessions?: unknown } },
  { group_by }: ReportQuery,
): boolean {
  return report.rows?.length === 0 || (group_by?.length === 0 && report.totals?.sessions === 0);
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
