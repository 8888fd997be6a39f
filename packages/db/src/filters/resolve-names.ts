import { AGENTS, KINDS_OF_WORK } from '@recount/core';
import type { Database } from '../database/database.ts';
import { type PgTable, type SQL, sql } from '../drizzle.cjs';
import type { PeopleAttribution } from '../people/read-attribution.ts';
import { usageDayRollup } from '../schema/rollups.ts';
import { lastActivity, modelListKey, sessions } from '../schema/transcripts.ts';
import { listRepositoryRenames } from '../workspaces/repository-renames.ts';
import type { AttributedName } from './attributed-to.ts';
import { matchName } from './match-name.ts';
import { listAttributed, type PeopleNames, readPeopleNames } from './resolve-people.ts';
import { selectDifferent } from './select-different.ts';

/** One name, or several; any of them may match. */
export type Names = string | readonly string[];

/** Names as people type them, or as tables print them. */
export interface WantedNames {
  agent?: Names | undefined;
  project?: Names | undefined;
  repository?: Names | undefined;
  gitBranch?: Names | undefined;
  model?: Names | undefined;
  machine?: Names | undefined;
  person?: Names | undefined;
  team?: Names | undefined;
  costCentre?: Names | undefined;
  kindOfWork?: Names | undefined;
  sessionId?: string | undefined;
}

export type NameField = keyof WantedNames;
type NamedField = Exclude<NameField, 'sessionId'>;

/** The query parameter of each name. */
export const NAME_PARAMETERS: Record<NameField, string> = {
  agent: 'agent',
  project: 'project',
  repository: 'repository',
  gitBranch: 'git_branch',
  model: 'model',
  machine: 'machine',
  person: 'person',
  team: 'team',
  costCentre: 'cost_centre',
  kindOfWork: 'kind_of_work',
  sessionId: 'session_id',
};
type RowField = (typeof ROW_FIELDS)[number];

/** Full names of the workspace, each once. An empty list matches nothing; an absent one leaves nothing out. */
export type ResolvedNames = Partial<Record<NamedField, string[]>> & {
  sessionId?: string;
  /** The names of sessions that `person`, `team` and `costCentre` mean together; absent if `person` says it all. */
  attributed?: AttributedName[];
};

/** A wanted name that matches nothing in the workspace. The message is written for the person who typed it. */
export interface UnmatchedName {
  field: NamedField;
  value: string;
  message: string;
  /** The possible meanings, best first; empty if nothing is similar. */
  candidates: readonly string[];
}

/**
 * A name matches nothing where that cannot be answered, or an id is the beginning of several, or the workspace has more
 * names than are compared. The message is written for the person who typed it.
 */
export class UnresolvedNameError extends Error {
  override name = 'UnresolvedNameError';
  readonly field: NameField;
  /** The possible meanings; empty if nothing is similar. */
  readonly candidates: readonly string[];
  /** True if it matches each of the candidates, rather than nothing. */
  readonly isAmbiguous: boolean;

  constructor(field: NameField, message: string, candidates: readonly string[], isAmbiguous = false) {
    super(message);
    this.field = field;
    this.candidates = candidates;
    this.isAmbiguous = isAmbiguous;
  }
}

const WORDS: Record<NameField, { one: string; several: string }> = {
  agent: { one: 'agent', several: 'agents' },
  project: { one: 'project', several: 'projects' },
  repository: { one: 'repository', several: 'repositories' },
  gitBranch: { one: 'branch', several: 'branches' },
  model: { one: 'model', several: 'models' },
  machine: { one: 'machine', several: 'machines' },
  person: { one: 'person', several: 'people' },
  team: { one: 'team', several: 'teams' },
  costCentre: { one: 'cost centre', several: 'cost centres' },
  kindOfWork: { one: 'kind of work', several: 'kinds of work' },
  sessionId: { one: 'session', several: 'sessions' },
};

/** Names that sessions or responses have in their rows. */
const ROW_FIELDS = ['agent', 'repository', 'project', 'gitBranch', 'model', 'machine'] as const satisfies NamedField[];

const PEOPLE_FIELDS = ['person', 'team', 'costCentre'] as const satisfies NamedField[];

/** Number of names compared, of sessions and of responses; if a workspace has more, they must be given in full. */
const MAX_NAMES = 10_000;
/** Names of the latest sessions are compared in any case, and come first. */
const LATEST_SESSIONS = 1000;
const MAX_OFFERED = 5;
/** Unmatched values of a field that similar names are looked for; each takes time. */
const MAX_SUGGESTED_VALUES = 3;
/** Ids that share less with what was typed are not suggested. */
const MIN_SHARED_LENGTH = 3;

/**
 * Replaces each name by all of the workspace's full ones that it means: projects by any part of their path, models and
 * agents by a part of their name, a person by any name that they have, a session by the beginning of its id.
 * `unmatched` are those that mean none. `people` are the workspace's. Throws UnresolvedNameError.
 */
export async function resolveNames(
  database: Database,
  workspaceId: string,
  wanted: WantedNames,
  people?: PeopleAttribution | undefined,
): Promise<{ names: ResolvedNames; unmatched: UnmatchedName[] }> {
  const names: ResolvedNames = {};
  const unmatched: UnmatchedName[] = [];
  for (const field of ROW_FIELDS) {
    const values = wanted[field];
    if (values === undefined) continue;
    const resolved = await resolveField(database, workspaceId, field, [values].flat());
    names[field] = resolved.names;
    unmatched.push(...resolved.unmatched);
  }
  if (PEOPLE_FIELDS.some((field) => wanted[field] !== undefined)) {
    const known = await readPeopleNames(database, workspaceId, people);
    for (const field of PEOPLE_FIELDS) {
      const values = wanted[field];
      if (values === undefined) continue;
      const resolved = resolvePeopleField(field, [values].flat(), known);
      names[field] = resolved.names;
      unmatched.push(...resolved.unmatched);
    }
    const isOfPeople = people !== undefined || names.team !== undefined || names.costCentre !== undefined;
    if (isOfPeople) names.attributed = listAttributed(names, known, people);
  }
  if (wanted.kindOfWork !== undefined) {
    const resolved = matchAll('kindOfWork', [wanted.kindOfWork].flat(), KINDS_OF_WORK);
    names.kindOfWork = resolved.names;
    unmatched.push(...resolved.unmatched);
  }
  if (wanted.sessionId !== undefined) names.sessionId = await resolveSession(database, workspaceId, wanted.sessionId);
  return { names, unmatched };
}

/** For answers that cannot say that a name matches nothing, such as files. Throws UnresolvedNameError for the first. */
export function requireMatches([first]: readonly UnmatchedName[]): void {
  if (first !== undefined) throw new UnresolvedNameError(first.field, first.message, first.candidates);
}

function resolvePeopleField(
  field: (typeof PEOPLE_FIELDS)[number],
  values: readonly string[],
  { shown, teams, costCentres }: PeopleNames,
): { names: string[]; unmatched: UnmatchedName[] } {
  const known = { person: [...shown.keys()], team: teams, costCentre: costCentres }[field];
  const { names, unmatched } = matchAll(field, values, known);
  return {
    names: [...new Set(names.map((name) => (field === 'person' ? (shown.get(name) ?? name) : name)))],
    unmatched,
  };
}

function matchAll(
  field: NamedField,
  values: readonly string[],
  known: readonly string[],
): { names: string[]; unmatched: UnmatchedName[] } {
  const found = new Set<string>();
  const unmatched: UnmatchedName[] = [];
  for (const value of new Set(values)) {
    const match = matchName(value, known, { suggests: unmatched.length < MAX_SUGGESTED_VALUES });
    for (const name of match.names) found.add(name);
    if (match.names.length === 0) unmatched.push(toUnmatched(field, value, match.nearest, known));
  }
  return { names: [...found], unmatched };
}

async function resolveField(
  database: Database,
  workspaceId: string,
  field: RowField,
  values: readonly string[],
): Promise<{ names: string[]; unmatched: UnmatchedName[] }> {
  // A repository is found by its earlier names too, and by its new one before any session has it.
  const renames = field === 'repository' ? await listRepositoryRenames(database, workspaceId) : [];
  // An agent without any data yet is still a valid name.
  const more =
    field === 'agent' ? AGENTS.map(({ id }) => id) : renames.flatMap(({ name, shown_name }) => [name, shown_name]);
  const { rows: known } = await database.execute<{ name: string }>(selectKnown(workspaceId, field, values));
  const found = new Set([...known.map(({ name }) => name), ...values.filter((value) => more.includes(value))]);
  const partial = values.filter((value) => !found.has(value));
  const unmatched: UnmatchedName[] = [];
  if (partial.length > 0) {
    const names = await readNames(database, workspaceId, field, more);
    for (const value of new Set(partial)) {
      const match = matchName(value, names, { suggests: unmatched.length < MAX_SUGGESTED_VALUES });
      for (const name of match.names) found.add(name);
      if (match.names.length === 0) unmatched.push(toUnmatched(field, value, match.nearest, names));
    }
  }
  for (const { name, shown_name: shownName, applied_at: appliedAt } of renames) {
    // Until all stored sessions have the new name, each of the two means both.
    if (appliedAt === null && found.has(shownName)) found.add(name);
    if (!found.has(name)) continue;
    found.add(shownName);
    if (appliedAt !== null && name !== shownName) found.delete(name);
  }
  return { names: [...found], unmatched };
}

function toUnmatched(field: NamedField, value: string, nearest: string[], names: readonly string[]): UnmatchedName {
  const { one, several } = WORDS[field];
  return {
    ...{ field, value, candidates: nearest },
    message: `No ${one} matches "${value}"${toHint(nearest, names, several)}`,
  };
}

/** All names of the workspace, and `more`. Throws UnresolvedNameError if there are more than are compared. */
async function readNames(
  database: Database,
  workspaceId: string,
  field: RowField,
  more: readonly string[],
): Promise<string[]> {
  const { rows } = await database.execute<{ name: string; is_cut: boolean }>(selectNames(workspaceId, field));
  if (rows[0]?.is_cut) {
    const message = `The workspace has more than ${MAX_NAMES} ${WORDS[field].several}: give the name in full.`;
    throw new UnresolvedNameError(field, message, []);
  }
  return [...new Set([...rows.map(({ name }) => name), ...more])];
}

function toHint(nearest: readonly string[], names: readonly string[], several: string): string {
  if (nearest.length > 0) return `; did you mean ${nearest.join(' or ')}?`;
  if (names.length === 0) return `: the workspace has no ${several} yet.`;
  const more = names.length > MAX_OFFERED ? ` and ${names.length - MAX_OFFERED} more` : '';
  return `; there are ${names.slice(0, MAX_OFFERED).join(', ')}${more}.`;
}

const IN_SESSIONS: Record<Exclude<RowField, 'model'>, SQL> = {
  agent: sql.raw('agent'),
  project: sql.raw('project'),
  repository: sql.raw('repository'),
  gitBranch: sql.raw('git_branch'),
  machine: sql.raw('machine'),
};
const IN_RESPONSES: Partial<Record<RowField, SQL>> = { model: sql.raw('model'), gitBranch: sql.raw('git_branch') };

/** The names that a session or a response has exactly, which an index shows. This is the usual case. */
function selectKnown(workspaceId: string, field: RowField, names: readonly string[]): SQL {
  const ofSessions = field === 'model' ? undefined : IN_SESSIONS[field];
  const sources: [table: PgTable, column: SQL | undefined][] = [
    [sessions, ofSessions],
    [usageDayRollup, IN_RESPONSES[field]],
  ];
  const lookups = sources.flatMap(([table, column]) =>
    column === undefined
      ? []
      : [sql`EXISTS (SELECT FROM ${table} AS t WHERE t.workspace_id = ${workspaceId} AND t.${column} = k.name)`],
  );
  return sql`SELECT k.name FROM unnest(${sql.param([...names])}::text[]) AS k (name) WHERE ${sql.join(lookups, sql` OR `)}`;
}

/** The names of the workspace, the latest sessions' first, without reading all sessions; `is_cut` if there are more. */
function selectNames(workspaceId: string, field: RowField): SQL {
  const inResponses = IN_RESPONSES[field];
  const ofSessions =
    field === 'model'
      ? { key: modelListKey(sql`models`), value: sql`models` }
      : { key: IN_SESSIONS[field], value: IN_SESSIONS[field] };
  const toName = (value: SQL): SQL => (field === 'model' ? sql`unnest(${value})` : value);
  const queries = [
    selectDifferent('of_sessions', sessions, workspaceId, ofSessions),
    ...(inResponses === undefined
      ? []
      : [selectDifferent('of_responses', usageDayRollup, workspaceId, { key: inResponses, value: inResponses })]),
  ];
  const names = ['of_sessions', ...(inResponses === undefined ? [] : ['of_responses'])];
  const limited = names.map((name) => sql.raw(`limited_${name} AS (SELECT value FROM ${name} LIMIT ${MAX_NAMES + 1})`));
  const isCut = names.map((name) => sql.raw(`(SELECT count(*) > ${MAX_NAMES} FROM limited_${name})`));
  return sql`
    WITH RECURSIVE ${sql.join([...queries, ...limited], sql`, `)}
    SELECT name, ${sql.join(isCut, sql` OR `)} AS is_cut FROM (
      SELECT ${toName(ofSessions.value)} AS name, last_timestamp FROM (
        SELECT ${ofSessions.value}, last_timestamp FROM ${sessions} WHERE workspace_id = ${workspaceId}
        ORDER BY ${lastActivity(sql`last_timestamp`)} DESC, session_id DESC LIMIT ${LATEST_SESSIONS}
      ) AS latest
      UNION ALL SELECT ${toName(sql`value`)}, NULL FROM limited_of_sessions
      ${inResponses === undefined ? sql`` : sql`UNION ALL SELECT value, NULL FROM limited_of_responses`}
    ) AS found
    WHERE name IS NOT NULL GROUP BY name ORDER BY max(last_timestamp) DESC NULLS LAST, name`;
}

/**
 * The id of the session with this id, of the one whose id begins with it, or of the sub-agent whose agent id does.
 * Throws UnresolvedNameError.
 */
export async function resolveSession(database: Database, workspaceId: string, name: string): Promise<string> {
  const prefix = name.replace(/…$/, '');
  // Ids sort by their bytes, so all ids with a prefix directly follow it.
  const { rows } = await database.execute<{ session_id: string }>(sql`
    SELECT session_id FROM ${sessions}
    WHERE workspace_id = ${workspaceId} AND session_id >= ${prefix} AND session_id < ${`${prefix}\u{10FFFF}`}
    -- The ids of sub-agents begin with that of their session.
    ORDER BY session_id <> ${name}, is_subagent, session_id LIMIT ${MAX_OFFERED + 1}`);
  const ids = rows.map(({ session_id }) => session_id);
  if (ids.length === 0) ids.push(...(await findSubagents(database, workspaceId, prefix)));
  const [first] = ids;
  if (first !== undefined) {
    if (first === name || ids.every((id) => id.startsWith(first))) return first;
    const offered = ids
      .filter((id) => !ids.some((other) => other !== id && id.startsWith(other)))
      .slice(0, MAX_OFFERED);
    const message = `${name} is the beginning of several sessions: ${offered.join(', ')}${ids.length > MAX_OFFERED ? ', …' : ''}. Use more of the id.`;
    throw new UnresolvedNameError('sessionId', message, offered, true);
  }
  const nearest = await findNearestSessions(database, workspaceId, prefix);
  const hint = nearest.length === 0 ? '. `recount sessions` lists them.' : `; did you mean ${nearest.join(' or ')}?`;
  throw new UnresolvedNameError('sessionId', `There is no session ${name}${hint}`, nearest);
}

async function findSubagents(database: Database, workspaceId: string, agentId: string): Promise<string[]> {
  const { rows } = await database.execute<{ session_id: string }>(sql`
    SELECT session_id FROM ${sessions}
    WHERE workspace_id = ${workspaceId} AND is_subagent AND starts_with(agent_id, ${agentId})
    ORDER BY agent_id <> ${agentId}, session_id LIMIT ${MAX_OFFERED + 1}`);
  return rows.map(({ session_id }) => session_id);
}

/** Neighbouring ids, in sort order, that begin alike. */
async function findNearestSessions(database: Database, workspaceId: string, name: string): Promise<string[]> {
  const start = name.slice(0, MIN_SHARED_LENGTH);
  if (start.length < MIN_SHARED_LENGTH) return [];
  const { rows } = await database.execute<{ session_id: string }>(sql`
    (SELECT session_id FROM ${sessions} WHERE workspace_id = ${workspaceId} AND session_id < ${name} AND NOT is_subagent
      ORDER BY session_id DESC LIMIT 1)
    UNION ALL
    (SELECT session_id FROM ${sessions} WHERE workspace_id = ${workspaceId} AND session_id > ${name} AND NOT is_subagent
      ORDER BY session_id LIMIT 1)`);
  return rows.map(({ session_id }) => session_id).filter((id) => id.startsWith(start));
}
