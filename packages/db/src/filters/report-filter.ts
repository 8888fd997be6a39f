import { createLocalClock, type LocalClock } from '@recount/core';
import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { eq, type SQL, sql } from '../drizzle.cjs';
import { type PeopleAttribution, readAttribution } from '../people/read-attribution.ts';
import { usageDayRollup } from '../schema/rollups.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { workspaces } from '../schema/workspaces.ts';
import { type AttributedName, isAttributedTo, isOneOf, toAttributed } from './attributed-to.ts';
import { type ResolvedNames, resolveNames, type UnmatchedName, type WantedNames } from './resolve-names.ts';
import type { HiddenOrder } from './visible-names.ts';

/**
 * The parameters of a report. `from` and `to` are ISO 8601: moments, or dates in the time zone. The branch is the
 * response's where usage is counted; place and person are the session's, team and cost centre are the person's on
 * that day (UTC).
 */
export interface ReportRequest extends WantedNames {
  from?: string | undefined;
  to?: string | undefined;
  /** IANA name. */
  timeZone: string;
  subagents: 'include' | 'exclude' | 'only';
  /** Limits the answer to sessions of people with these names, whose texts are theirs; undefined means all. */
  onlyNames?: readonly string[] | undefined;
}

/** A request for a workspace with its times as moments: `from` inclusive, `to` exclusive. */
export interface ReportFilter extends ResolvedNames, Pick<ReportRequest, 'timeZone' | 'subagents' | 'onlyNames'> {
  workspaceId: string;
  from: string | null;
  to: string | null;
  /** Only calls of this tool, in reports whose rows are calls. */
  tool?: string | undefined;
  /** The people of the workspace, to group by; absent if it has none. */
  people?: PeopleAttribution | undefined;
  /** Decides the order of groups with equal figures where names would tell who is who. */
  hiddenOrder?: HiddenOrder | undefined;
}

const DATE = /^\d{4}-\d\d-\d\d$/;

/**
 * Converts dates to moments by Node's rules of the time zone and names to all full ones that they mean, and reads the
 * workspace's currency label. A name in `unmatched` means none. Throws RangeError for an unknown time zone, and
 * UnresolvedNameError.
 */
export async function resolveReportFilter(
  database: Database,
  workspaceId: string,
  request: ReportRequest,
): Promise<{ filter: ReportFilter; unmatched: UnmatchedName[]; currencyLabel: string }> {
  const clock = createLocalClock(request.timeZone);
  const [row] = await database
    .select({ currencyLabel: workspaces.currency_label })
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId));
  if (row === undefined) throw new Error('There is no such workspace');
  const people = await readAttribution(database, workspaceId);
  const resolved = await resolveNames(database, workspaceId, request, people);
  const { names, unmatched } = limitToNames(resolved, request.onlyNames);
  const { timeZone, subagents, onlyNames } = request;
  const times = { from: toMoment(request.from, clock), to: toMoment(request.to, clock) };
  return {
    filter: { ...names, ...times, workspaceId, timeZone, subagents, onlyNames, people },
    unmatched,
    currencyLabel: row.currencyLabel,
  };
}

/** Leaves of the people that a request means those with the names, and says nothing of other names. */
function limitToNames(
  { names, unmatched }: { names: ResolvedNames; unmatched: UnmatchedName[] },
  only: readonly string[] | undefined,
): { names: ResolvedNames; unmatched: UnmatchedName[] } {
  if (only === undefined) return { names, unmatched };
  const meant = names.attributed ?? (names.person && toAttributed(names.person));
  const attributed = meant?.filter(({ name }) => only.includes(name)) ?? toAttributed(only);
  const person = names.person?.filter((name) => only.includes(name)) ?? [...only];
  const others = unmatched.filter(({ field }) => field !== 'person' && field !== 'machine');
  return { names: { ...names, person, attributed }, unmatched: others };
}

/** The condition that a session has turns of one of the kinds of work. */
export const hasWork = (sessionId: SQL, workspaceId: string, kinds: readonly string[]): SQL => sql`EXISTS (
  SELECT FROM ${usageDayRollup} AS of_work
  WHERE of_work.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND of_work.session_id = ${sessionId}
    AND ${isOneOf(sql`of_work.kind_of_work`, kinds)})`;

/** The condition that a column's list has one of the names. */
export function hasOneOf(column: SQL, names: readonly string[]): SQL {
  return names.length === 1 ? sql`${names[0]} = ANY(${column})` : sql`${column} && ${sql.param([...names])}::text[]`;
}

/** A date's beginning, or a moment, as ISO 8601 in UTC. */
export function toMoment(value: string | undefined, clock: LocalClock): string | null {
  if (value === undefined) return null;
  return new Date(DATE.test(value) ? clock.toDayStartMs(value) : Date.parse(value)).toISOString();
}

export interface PeopleFilter {
  /** Names of sessions, which count if there is no `attributed`. */
  person?: readonly string[] | undefined;
  attributed?: readonly AttributedName[] | undefined;
}

/** The condition of the filters by person, team and cost centre; undefined without one. */
export function isOfPeople(filter: PeopleFilter, person: SQL, time: SQL): SQL | undefined {
  const attributed = filter.attributed ?? (filter.person && toAttributed(filter.person));
  return attributed && isAttributedTo(person, time, attributed);
}

/**
 * The condition that all versions of a session that have rows were sent by someone with one of the names, so that its
 * texts are theirs. A session belongs to the sender of its first version, even if someone else has sent others, or one that
 * contains it. Undefined without names.
 */
export function hasTextsOf(
  { workspaceId, onlyNames }: Pick<ReportFilter, 'workspaceId' | 'onlyNames'>,
  sessionId: SQL,
): SQL | undefined {
  if (onlyNames === undefined) return undefined;
  return sql`NOT EXISTS (
    SELECT FROM ${sessions} AS of_person
    JOIN ${transcripts} AS of_texts
      ON of_texts.workspace_id = of_person.workspace_id AND of_texts.session_id = of_person.session_id
    WHERE of_person.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND of_person.session_id = ${sessionId}
      AND of_texts.ingested_at IS NOT NULL AND NOT ${isSentBy(onlyNames, sql`of_texts`, sql`of_person`)})`;
}

/** The condition that a version of a session was sent by someone with one of the names; both as tables of the query. */
export const isSentBy = (names: readonly string[], version: SQL, session: SQL): SQL => sql`CASE
  WHEN ${version}.person IS NULL THEN ${version}.uploader_key_id IS NOT DISTINCT FROM ${session}.uploader_key_id
  ELSE ${isOneOf(sql`${version}.person`, names)} END`;
