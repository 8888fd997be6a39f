import { AGENTS } from '@recount/core';
import type { Database } from '../database/database.ts';
import { type PgTable, type SQL, sql } from '../drizzle.cjs';
import { usageDayRollup } from '../schema/rollups.ts';
import { lastActivity, modelListKey, sessions } from '../schema/transcripts.ts';
import { matchName } from './match-name.ts';

/** Names as people type them, or as tables print them. */
export interface WantedNames {
  agent?: string | undefined;
  project?: string | undefined;
  gitBranch?: string | undefined;
  model?: string | undefined;
  machine?: string | undefined;
  person?: string | undefined;
  sessionId?: string | undefined;
}

export type NameField = keyof WantedNames;

/** A name matches nothing in the workspace, or several things. The message is written for the person who typed it. */
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
  gitBranch: { one: 'branch', several: 'branches' },
  model: { one: 'model', several: 'models' },
  machine: { one: 'machine', several: 'machines' },
  person: { one: 'person', several: 'people' },
  sessionId: { one: 'session', several: 'sessions' },
};

/** Number of names compared, of sessions and of responses; if a workspace has more, the others must be given in full. */
const MAX_NAMES = 10_000;
/** Names of the latest sessions are compared in any case, and come first. */
const LATEST_SESSIONS = 1000;
const MAX_OFFERED = 5;
/** Ids that share less with what was typed are not suggested. */
const MIN_SHARED_LENGTH = 3;

/**
 * Replaces each name by the workspace's full one. A project by any part of its path that is unique, a session by the
 * beginning of its id, a model and an agent by a part of its name. Throws UnresolvedNameError.
 */
export async function resolveNames<Wanted extends WantedNames>(
  database: Database,
  workspaceId: string,
  wanted: Wanted,
): Promise<Wanted> {
  const resolved: WantedNames = {};
  for (const field of Object.keys(WORDS) as NameField[]) {
    const name = wanted[field];
    if (name === undefined) continue;
    resolved[field] =
      field === 'sessionId'
        ? await resolveSession(database, workspaceId, name)
        : await resolveName(database, workspaceId, field, name);
  }
  return { ...wanted, ...resolved };
}

async function resolveName(
  database: Database,
  workspaceId: string,
  field: Exclude<NameField, 'sessionId'>,
  name: string,
): Promise<string> {
  // An agent without any data yet is still a valid name.
  const more = field === 'agent' ? AGENTS.map(({ id }) => id) : [];
  if (more.includes(name)) return name;
  const [row] = (await database.execute<{ is_known: boolean }>(selectIsKnown(workspaceId, field, name))).rows;
  if (row?.is_known) return name;
  const { rows } = await database.execute<{ name: string }>(selectNames(workspaceId, field));
  const names = [...new Set([...rows.map((each) => each.name), ...more])];
  const match = matchName(name, names);
  if (match.kind === 'one') return match.name;
  const { one, several } = WORDS[field];
  if (match.kind === 'several') {
    const message = `${name} matches several ${several}: ${match.names.join(', ')}. Use more of the name.`;
    throw new UnresolvedNameError(field, message, match.names, true);
  }
  throw new UnresolvedNameError(
    field,
    `There is no ${one} ${name}${toHint(match.nearest, names, several)}`,
    match.nearest,
  );
}

function toHint(nearest: readonly string[], names: readonly string[], several: string): string {
  if (nearest.length > 0) return `; did you mean ${nearest.join(' or ')}?`;
  if (names.length === 0) return `: the workspace has no ${several} yet.`;
  const more = names.length > MAX_OFFERED ? ` and ${names.length - MAX_OFFERED} more` : '';
  return `; there are ${names.slice(0, MAX_OFFERED).join(', ')}${more}.`;
}

type NamedField = Exclude<NameField, 'sessionId'>;

const IN_SESSIONS: Record<Exclude<NamedField, 'model'>, SQL> = {
  agent: sql.raw('agent'),
  project: sql.raw('project'),
  gitBranch: sql.raw('git_branch'),
  machine: sql.raw('machine'),
  person: sql.raw('person'),
};
const IN_RESPONSES: Partial<Record<NamedField, SQL>> = { model: sql.raw('model'), gitBranch: sql.raw('git_branch') };

/** True if a session or a response has exactly this name, which an index shows. This is the usual case. */
function selectIsKnown(workspaceId: string, field: NamedField, name: string): SQL {
  const ofSessions = field === 'model' ? undefined : IN_SESSIONS[field];
  const sources: [table: PgTable, column: SQL | undefined][] = [
    [sessions, ofSessions],
    [usageDayRollup, IN_RESPONSES[field]],
  ];
  const lookups = sources.flatMap(([table, column]) =>
    column === undefined
      ? []
      : [sql`EXISTS (SELECT FROM ${table} WHERE workspace_id = ${workspaceId} AND ${column} = ${name})`],
  );
  return sql`SELECT ${sql.join(lookups, sql` OR `)} AS is_known`;
}

/** The names of the workspace, the latest sessions' first, without reading all sessions. */
function selectNames(workspaceId: string, field: NamedField): SQL {
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
  return sql`
    WITH RECURSIVE ${sql.join(queries, sql`, `)}
    SELECT name FROM (
      SELECT ${toName(ofSessions.value)} AS name, last_timestamp FROM (
        SELECT ${ofSessions.value}, last_timestamp FROM ${sessions} WHERE workspace_id = ${workspaceId}
        ORDER BY ${lastActivity(sql`last_timestamp`)} DESC, session_id DESC LIMIT ${LATEST_SESSIONS}
      ) AS latest
      UNION ALL SELECT ${toName(sql`value`)}, NULL FROM (SELECT value FROM of_sessions LIMIT ${MAX_NAMES}) AS s
      ${inResponses === undefined ? sql`` : sql`UNION ALL SELECT value, NULL FROM (SELECT value FROM of_responses LIMIT ${MAX_NAMES}) AS r`}
    ) AS found
    WHERE name IS NOT NULL GROUP BY name ORDER BY max(last_timestamp) DESC NULLS LAST, name`;
}

/** A query of a WITH: the values of an indexed key in its order, each once, by looking up the next one again and again. */
function selectDifferent(
  name: string,
  table: PgTable,
  workspaceId: string,
  { key, value }: { key: SQL; value: SQL },
): SQL {
  const query = sql.raw(name);
  const selectFirst = (condition: SQL): SQL => sql`
    SELECT ${key} AS key, ${value} AS value FROM ${table}
    WHERE workspace_id = ${workspaceId} AND ${condition} ORDER BY ${key} LIMIT 1`;
  return sql`${query} AS (
    (${selectFirst(sql`${key} IS NOT NULL`)})
    UNION ALL
    SELECT next.key, next.value FROM ${query} AS before CROSS JOIN LATERAL (
      ${selectFirst(sql`${key} IS NOT NULL AND ${key} > before.key`)}
    ) AS next
  )`;
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
