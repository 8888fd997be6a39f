import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { findNearest } from '../filters/match-name.ts';
import { resolveReportFilter } from '../filters/report-filter.ts';
import { sessions } from '../schema/transcripts.ts';
import { readUsageReport } from './read-usage-report.ts';

/** The sessions of a person, or of a name that no person has. */
export interface PersonFigures {
  /** All sessions, those without usage included. */
  sessions: number;
  /** US dollars of own responses; null if none has a price. */
  cost_usd: number | null;
  last_timestamp: string | null;
}

/** A name of sessions that no person has; null for sessions without a name. */
interface UnattributedName extends PersonFigures {
  name: string | null;
  /** People who may be meant, the most similar first. */
  suggestions: { id: string; display_name: string }[];
}

const MAX_GROUPS = 10_000;
const MAX_SUGGESTIONS = 3;

interface Row extends Record<string, unknown> {
  name: string | null;
  person_id: string | null;
  sessions: number;
  last_ms: number | null;
}

/** Figures of all time by the ids of people, and of each name that no person has. Reads them with the report on usage. */
async function readFigures(snapshot: Database, workspaceId: string) {
  const { filter } = await resolveReportFilter(snapshot, workspaceId, { timeZone: 'UTC', subagents: 'include' });
  const usage = await readUsageReport(snapshot, filter, { groupBy: ['person'], limit: MAX_GROUPS });
  const costs = new Map(usage.rows.map(({ person = null, own }) => [person, own.cost_usd]));
  const { rows } = await snapshot.execute<Row>(sql`
    SELECT coalesce(n.person, s.person) AS name, n.person_id, sum(s.sessions)::float8 AS sessions,
      extract(epoch FROM max(s.last))::float8 * 1000 AS last_ms
    FROM (
      SELECT person, count(*) AS sessions, max(last_timestamp) AS last FROM ${sessions}
      WHERE workspace_id = ${workspaceId} GROUP BY person
    ) AS s
    LEFT JOIN analytics.person_names AS n ON n.workspace_id = ${workspaceId} AND lower(n.name) = lower(s.person)
    GROUP BY 1, 2`);
  const toFigures = ({ name, sessions: count, last_ms: lastMs }: Row): PersonFigures => {
    const cost = costs.get(name);
    return {
      sessions: count,
      cost_usd: cost === undefined ? 0 : cost,
      last_timestamp: lastMs === null ? null : new Date(lastMs).toISOString(),
    };
  };
  return rows.map((row) => ({ ...toFigures(row), name: row.name, personId: row.person_id }));
}

/** Figures of all time, by the ids of people who have sessions. */
export async function readPeopleFigures(snapshot: Database, workspaceId: string): Promise<Map<string, PersonFigures>> {
  const figures = await readFigures(snapshot, workspaceId);
  return new Map(
    figures.flatMap(({ personId, name: _name, ...rest }) => (personId === null ? [] : [[personId, rest] as const])),
  );
}

/** Names of sessions that no person has, the most expensive first, from `offset` on, with people who may be meant. */
export async function listUnattributed(
  snapshot: Database,
  workspaceId: string,
  { offset, limit }: { offset: number; limit: number },
): Promise<UnattributedName[]> {
  const figures = await readFigures(snapshot, workspaceId);
  const unattributed = figures
    .filter(({ personId }) => personId === null)
    .sort((a, b) => (b.cost_usd ?? 0) - (a.cost_usd ?? 0) || (a.name ?? '').localeCompare(b.name ?? ''));
  const page = unattributed.slice(offset, offset + limit);
  const { rows: names } = await snapshot.execute<{ name: string; person_id: string; person: string }>(sql`
    SELECT name, person_id, person FROM analytics.person_names WHERE workspace_id = ${workspaceId} ORDER BY name`);
  const owners = new Map(names.map((row) => [row.name, { id: row.person_id, display_name: row.person }]));
  return page.map(({ personId: _id, name, ...rest }) => {
    const similar = name === null ? [] : findNearest(toPlain(name), [...owners.keys()]);
    const people = new Map(similar.flatMap((each) => owners.get(each) ?? []).map((owner) => [owner.id, owner]));
    return { name, ...rest, suggestions: [...people.values()].slice(0, MAX_SUGGESTIONS) };
  });
}

/** The part of a name that tells most: an e-mail address without its domain, which colleagues share. */
const toPlain = (name: string): string => name.toLowerCase().replace(/@.*/, '');
