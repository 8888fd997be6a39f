import type { SessionEventKind } from '@recount/core';
import { type SQL, sql } from '../drizzle.cjs';
import { isShort, type ReportFilter, type ReportSource, toReportSource } from './report-filter.ts';

interface EventPart {
  source: ReportSource;
  /** The view that has each event once, however many transcripts have a copy of its line; alias `e`. */
  table: SQL;
  where: SQL;
}

/** The events of these kinds, to be read with the conditions of the filter. */
export function readEvents(filter: ReportFilter, kinds: readonly SessionEventKind[]): EventPart {
  const areOfKinds = (alias: string) => sql.raw(`${alias}.kind IN (${kinds.map((kind) => `'${kind}'`).join(', ')})`);
  return {
    source: toReportSource('e', { time: 'timestamp' }),
    table: sql`analytics.session_events AS e`,
    where: isShort(filter) ? sql`${areOfKinds('e')} AND ${hasCopyInTime(filter, areOfKinds('copy'))}` : areOfKinds('e'),
  };
}

/**
 * The view's first copy is in the filter's time only if some copy is. Their keys go into the view, which otherwise
 * compares the copies of all events of the workspace.
 */
const hasCopyInTime = ({ workspaceId, from, to }: ReportFilter, areOfKinds: SQL) => sql`
  e.event_key = ANY (ARRAY (
    SELECT copy.event_key FROM recount.session_events AS copy
    WHERE copy.workspace_id = ${workspaceId} AND ${areOfKinds} AND copy."timestamp" >= ${from}::timestamptz
      AND copy."timestamp" < ${to ?? 'infinity'}::timestamptz
  ))`;

/** A number in an event's details; null if missing. */
export const detailNumber = (name: string) =>
  sql.raw(`CASE WHEN jsonb_typeof(e.details -> '${name}') = 'number' THEN (e.details ->> '${name}')::float8 END`);
