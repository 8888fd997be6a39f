import { createLocalClock, type LocalClock } from '@recount/core';
import type { Database } from '../database/database.ts';
import { eq } from '../drizzle.cjs';
import { workspaces } from '../schema/workspaces.ts';
import { resolveNames } from './resolve-names.ts';

/** The parameters of a report. `from` and `to` are ISO 8601: moments, or dates in the time zone. */
export interface ReportRequest {
  from?: string | undefined;
  to?: string | undefined;
  /** IANA name. */
  timeZone: string;
  agent?: string | undefined;
  project?: string | undefined;
  gitBranch?: string | undefined;
  /** The place and the person of the session. */
  machine?: string | undefined;
  person?: string | undefined;
  model?: string | undefined;
  sessionId?: string | undefined;
  subagents: 'include' | 'exclude' | 'only';
}

/** A request for a workspace with its times as moments: `from` inclusive, `to` exclusive. */
export interface ReportFilter extends Omit<ReportRequest, 'from' | 'to'> {
  workspaceId: string;
  from: string | null;
  to: string | null;
}

const DATE = /^\d{4}-\d\d-\d\d$/;

/**
 * Converts dates to moments by Node's rules of the time zone and abbreviated names to full ones, and reads the workspace's
 * currency label. Throws RangeError for an unknown time zone, and UnresolvedNameError.
 */
export async function resolveReportFilter(
  database: Database,
  workspaceId: string,
  request: ReportRequest,
): Promise<{ filter: ReportFilter; currencyLabel: string }> {
  const clock = createLocalClock(request.timeZone);
  const [row] = await database
    .select({ currencyLabel: workspaces.currency_label })
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId));
  if (row === undefined) throw new Error('There is no such workspace');
  const names = await resolveNames(database, workspaceId, request);
  const filter = { ...names, workspaceId, from: toMoment(request.from, clock), to: toMoment(request.to, clock) };
  return { filter, currencyLabel: row.currencyLabel };
}

function toMoment(value: string | undefined, clock: LocalClock): string | null {
  if (value === undefined) return null;
  return new Date(DATE.test(value) ? clock.toDayStartMs(value) : Date.parse(value)).toISOString();
}
