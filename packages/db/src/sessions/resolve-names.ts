import { AGENTS } from '@recount/core';
import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { sessions } from '../transcripts/schema.ts';
import { usageDayRollup } from '../usage/rollups-schema.ts';
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

/** A name matches nothing in the workspace, or several things. The message is written for whoever typed it. */
export class UnresolvedNameError extends Error {
  override name = 'UnresolvedNameError';
  readonly field: NameField;
  /** What may be meant; empty if nothing is similar. */
  readonly candidates: readonly string[];
  /** Whether it matches each of the candidates, rather than nothing. */
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

/** Number of names compared; if a workspace has more, the others must be given in full. */
const MAX_NAMES = 10_000;
const MAX_OFFERED = 5;
/** Ids that share less with what was typed are not suggested. */
const MIN_SHARED_LENGTH = 3;

/**
 * Replaces each name by the workspace's full one: a project by any part of its path that is unique, a session by the
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
  const [row] = (await database.execute<{ is_known: boolean }>(selectIsKnown(workspaceId, field, name))).rows;
  if (row?.is_known) return name;
  // An agent without any data yet is still a valid name.
  const more = field === 'agent' ? AGENTS.map(({ id }) => id) : [];
  const { rows } = await database.execute<{ name: string }>(selectNames(workspaceId, field));
  const names = [...new Set([...rows.map((each) => each.name), ...more])];
  const match = matchName(name, names);
  if (match.kind === 'one') return match.name;
  const { one, several } = WORDS[field];
  if (match.kind === 'several') {
    const message = `${name} may be one of several ${several}: ${match.names.join(', ')}. Give more of the name.`;
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

/** Whether a session or a response has exactly this name: the usual case, which stops at the first such row. */
function selectIsKnown(workspaceId: string, field: Exclude<NameField, 'sessionId'>, name: string): SQL {
  const inSessions = {
    agent: sql`agent = ${name}`,
    project: sql`project = ${name}`,
    gitBranch: sql`git_branch = ${name}`,
    model: sql`${name} = ANY(models)`,
    machine: sql`machine = ${name}`,
    person: sql`person = ${name}`,
  }[field];
  const known = sql`EXISTS (SELECT FROM ${sessions} WHERE workspace_id = ${workspaceId} AND ${inSessions})`;
  if (field !== 'gitBranch' && field !== 'model') return sql`SELECT ${known} AS is_known`;
  const column = field === 'model' ? sql`model` : sql`git_branch`;
  return sql`
    SELECT ${known}
      OR EXISTS (SELECT FROM ${usageDayRollup} WHERE workspace_id = ${workspaceId} AND ${column} = ${name}) AS is_known`;
}

function selectNames(workspaceId: string, field: Exclude<NameField, 'sessionId'>): SQL {
  const ofSessions = {
    agent: sql`agent`,
    project: sql`project`,
    gitBranch: sql`git_branch`,
    model: sql`unnest(models)`,
    machine: sql`machine`,
    person: sql`person`,
  }[field];
  const inSessions = sql`SELECT ${ofSessions} AS name, last_timestamp FROM ${sessions} WHERE workspace_id = ${workspaceId}`;
  const column = field === 'model' ? sql`model` : sql`git_branch`;
  const inResponses = sql`
    UNION ALL SELECT ${column}, last_bucket_start FROM ${usageDayRollup} WHERE workspace_id = ${workspaceId}`;
  const found = field === 'gitBranch' || field === 'model' ? sql`${inSessions} ${inResponses}` : inSessions;
  return sql`
    SELECT name FROM (${found}) AS found WHERE name IS NOT NULL
    GROUP BY name ORDER BY max(last_timestamp) DESC NULLS LAST, name LIMIT ${MAX_NAMES}`;
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
    const message = `${name} is the beginning of several sessions: ${offered.join(', ')}${ids.length > MAX_OFFERED ? ', …' : ''}. Give more of the id.`;
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
