import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';

/** The time that a person belongs to a team and a cost centre; moments, or `-infinity` and `infinity`. */
export interface Period {
  startsAt: string;
  endsBefore: string;
}

interface NamedPeriod extends Period {
  /** Name of sessions, in lower case. */
  nameKey: string;
  team: string | null;
  costCentre: string | null;
}

/** The people of a workspace and their teams, by the names of their sessions. */
export interface PeopleAttribution {
  names: readonly { nameKey: string; name: string; person: string }[];
  /** At most one of a name for each moment. */
  periods: readonly NamedPeriod[];
  /** True if every period has always been and still is, so that all of a session belongs to one team. */
  isConstant: boolean;
}

export const ALWAYS: Period = { startsAt: '-infinity', endsBefore: 'infinity' };

/** True for a period that has always been and still is. */
export const isAlways = ({ startsAt, endsBefore }: Period): boolean =>
  startsAt === ALWAYS.startsAt && endsBefore === ALWAYS.endsBefore;

interface Row extends Record<string, unknown> {
  name_key: string;
  name: string;
  person: string;
  starts_on: string | null;
  ends_before: string | null;
  team: string | null;
  cost_centre: string | null;
}

/** Reads who has which names, and the teams of each. Undefined if the workspace has no people. */
export async function readAttribution(database: Database, workspaceId: string): Promise<PeopleAttribution | undefined> {
  const { rows } = await database.execute<Row>(sql`
    SELECT lower(n.name) AS name_key, n.name, n.person, m.starts_on::text, m.ends_before::text, m.team, m.cost_centre
    FROM analytics.person_names AS n
    LEFT JOIN analytics.team_memberships AS m
      ON m.workspace_id = n.workspace_id AND m.person_id = n.person_id AND (m.team IS NOT NULL OR m.cost_centre IS NOT NULL)
    WHERE n.workspace_id = ${workspaceId}
    ORDER BY name_key, m.starts_on`);
  if (rows.length === 0) return undefined;
  const names = new Map(
    rows.map(({ name_key: nameKey, name, person }) => [nameKey, { nameKey, name, person }] as const),
  );
  const periods = rows.flatMap((row) => {
    const { name_key: nameKey, starts_on: startsOn, ends_before: endsOn, team, cost_centre: costCentre } = row;
    if (startsOn === null || endsOn === null) return [];
    return [{ nameKey, team, costCentre, startsAt: toMoment(startsOn), endsBefore: toMoment(endsOn) }];
  });
  return { names: [...names.values()], periods, isConstant: periods.every(isAlways) };
}

/** The beginning of a day in UTC. */
const toMoment = (day: string): string => (day.endsWith('infinity') ? day : `${day}T00:00:00Z`);
