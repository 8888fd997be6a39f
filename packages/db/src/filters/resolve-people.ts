import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { ALWAYS, type PeopleAttribution, readAttribution } from '../people/read-attribution.ts';
import { sessions } from '../schema/transcripts.ts';
import type { AttributedName } from './attributed-to.ts';
import { selectDifferent } from './select-different.ts';

/** A name of sessions, exactly as they have it, and in lower case. */
interface SessionName {
  name: string;
  nameKey: string;
}

/** Names that filters accept, by what each means. */
export interface PeopleNames {
  /** The form in reports of each name: a person, or a name that no person has. Contains both, and all names of people. */
  shown: ReadonlyMap<string, string>;
  teams: readonly string[];
  costCentres: readonly string[];
  ofSessions: readonly SessionName[];
}

/** Reads all names that filters of people, teams and cost centres accept. */
export async function readPeopleNames(
  database: Database,
  workspaceId: string,
  people: PeopleAttribution | undefined,
): Promise<PeopleNames> {
  const { rows: ofSessions } = await database.execute<SessionName & Record<string, unknown>>(sql`
    WITH RECURSIVE ${selectDifferent('of_sessions', sessions, workspaceId, { key: sql`person`, value: sql`person` })}
    SELECT value AS name, lower(value) AS "nameKey" FROM of_sessions`);
  const { rows: teams } = await database.execute<{ name: string; cost_centre: string | null }>(sql`
    SELECT name, cost_centre FROM recount.teams WHERE workspace_id = ${workspaceId} ORDER BY name`);
  const known = (people?.names ?? []).flatMap(({ name, person }) => [
    [name, person] as const,
    [person, person] as const,
  ]);
  const toShown = createToShown(people);
  const costCentres = [
    ...teams.map((team) => team.cost_centre),
    ...(people?.periods ?? []).map((one) => one.costCentre),
  ];
  return {
    shown: new Map([...ofSessions.map((name) => [name.name, toShown(name)] as const), ...known]),
    teams: teams.map(({ name }) => name),
    costCentres: [...new Set(costCentres.filter((name) => name !== null))],
    ofSessions,
  };
}

function createToShown(people: PeopleAttribution | undefined): (name: SessionName) => string {
  const persons = new Map((people?.names ?? []).map(({ nameKey, person }) => [nameKey, person]));
  return ({ name, nameKey }) => persons.get(nameKey) ?? name;
}

/** Names of people in reports. */
export interface ShownNames extends Omit<PeopleNames, 'ofSessions'> {
  /** True if the workspace knows people, not only the names of its sessions, which uploaders choose. */
  hasPeople: boolean;
}

/** Reads the names that sessions have for people, and what reports show for each. */
export async function readShownNames(database: Database, workspaceId: string): Promise<ShownNames> {
  const people = await readAttribution(database, workspaceId);
  const { shown, teams, costCentres } = await readPeopleNames(database, workspaceId, people);
  return { shown, teams, costCentres, hasPeople: people !== undefined };
}

/** Full names, as reports show them; undefined leaves nothing out. */
interface MeantPeople {
  person?: readonly string[] | undefined;
  team?: readonly string[] | undefined;
  costCentre?: readonly string[] | undefined;
}

/** The names of sessions, with their times, that pass filters by people, teams and cost centres. */
export function listAttributed(
  { person, team, costCentre }: MeantPeople,
  names: Pick<PeopleNames, 'ofSessions'>,
  people: PeopleAttribution | undefined,
): AttributedName[] {
  const toShown = createToShown(people);
  const meant = names.ofSessions.filter((name) => person === undefined || person.includes(toShown(name)));
  if (team === undefined && costCentre === undefined) return meant.map(({ name }) => ({ name, ...ALWAYS }));
  const periods = Map.groupBy(people?.periods ?? [], ({ nameKey }) => nameKey);
  const passes = (list: readonly string[] | undefined, value: string | null): boolean =>
    list === undefined || (value !== null && list.includes(value));
  return meant.flatMap(({ name, nameKey }) =>
    (periods.get(nameKey) ?? [])
      .filter((period) => passes(team, period.team) && passes(costCentre, period.costCentre))
      .map(({ startsAt, endsBefore }) => ({ name, startsAt, endsBefore })),
  );
}
