import type { SessionEventKind } from '@recount/core';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { sessionEvents } from '../schema/usage.ts';
import { selectFirstCopies } from '../usage/event-copies.ts';
import { isShort, type ReportSource, toReportSource } from './report-source.ts';

interface EventPart {
  source: ReportSource;
  /** Each event once, however many transcripts have a copy of its line; alias `e`. */
  table: SQL;
  where: SQL;
}

/** The events of these kinds, to be read with the conditions of the filter. */
export function readEvents(filter: ReportFilter, kinds: readonly SessionEventKind[]): EventPart {
  const isOfKind = sql.raw(`kind IN (${kinds.map((kind) => `'${kind}'`).join(', ')})`);
  return {
    source: toReportSource('e', { time: 'timestamp' }),
    table: isShort(filter)
      ? sql`(${selectFirstCopies(selectCopies(filter, isOfKind), filter.workspaceId)}) AS e`
      : sql`analytics.session_events AS e`,
    where: isOfKind,
  };
}

/**
 * All copies of the events that have one in the filter's time. The time of an event (its first copy's) is among them.
 */
const selectCopies = ({ workspaceId, from, to }: ReportFilter, isOfKind: SQL) => sql`
  SELECT c.* FROM (
    SELECT DISTINCT event_key FROM ${sessionEvents}
    WHERE workspace_id = ${workspaceId} AND ${isOfKind} AND "timestamp" >= ${from}::timestamptz
      AND "timestamp" < ${to ?? 'infinity'}::timestamptz
  ) AS seen CROSS JOIN LATERAL (
    SELECT * FROM ${sessionEvents}
    WHERE workspace_id = ${opaqueWorkspaceId(workspaceId)} AND event_key = seen.event_key AND ${isOfKind} OFFSET 0
  ) AS c`;

/** A number in an event's details; null if missing. */
export const detailNumber = (name: string) =>
  sql.raw(`CASE WHEN jsonb_typeof(e.details -> '${name}') = 'number' THEN (e.details ->> '${name}')::float8 END`);
