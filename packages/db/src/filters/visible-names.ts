import { createHmac } from 'node:crypto';
import { type NamedKind, PERSON_FIELDS } from '@recount/contract/access';
import type { Database } from '../database/database.ts';
import { listLedPeople, listMachinesOf } from '../people/led-people.ts';
import { listOwnNames } from '../people/own-names.ts';
import { readPresentPeople } from '../people/present-people.ts';
import { readViewPolicy, type ViewPolicy } from '../workspaces/api-keys.ts';
import { ensurePseudonymSalt } from '../workspaces/workspace-settings.ts';
import { readShownNames, type ShownNames } from './resolve-people.ts';

/** Someone who reads, and whose names they see. */
export interface NameReader {
  /**
   * The people whose names are shown beside one's own: all, those in teams that `person` leads today, or what the
   * workspace's policy says.
   */
  names: 'all' | 'led-teams' | 'policy';
  /** Any name of the reader; null if no one knows it. */
  person: string | null;
  /** All names of the reader, which are always seen. */
  ownNames: readonly string[];
}

type NamesPolicy = Pick<ViewPolicy, 'namesFromPeople'>;

/** A reader whom no one knows, such as one with a link or a digest. */
const ANYONE: NameReader = { names: 'policy', person: null, ownNames: [] };

/** Names of teams and cost centres. */
type GroupNames = Readonly<Record<'team' | 'cost_centre', readonly string[]>>;

/** The names that someone sees who does not see all names. */
export interface VisibleNames extends Omit<ShownNames, 'hasPeople'> {
  /** People, by their names in reports. */
  persons: ReadonlySet<string>;
  /** Undefined if all are seen. */
  groups: GroupNames | undefined;
  /** All names of these people, as sessions and reports have them. */
  names: readonly string[];
  /** Machines that no one else uses. */
  machines: ReadonlySet<string>;
}

/** The people and groups whom a reader sees by name; undefined if that is everyone. */
async function readVisiblePersons(
  database: Database,
  workspaceId: string,
  { namesFromPeople }: NamesPolicy,
  { names, person, ownNames }: NameReader,
): Promise<Omit<VisibleNames, 'names' | 'machines'> | undefined> {
  if (names === 'all' || (names === 'policy' && namesFromPeople === null)) return undefined;
  const known = await readShownNames(database, workspaceId);
  const large =
    namesFromPeople === null ? undefined : await findLargeTeams(database, workspaceId, namesFromPeople, known);
  if (names === 'policy' && large === undefined) return undefined;
  const led =
    names === 'policy' || person === null
      ? { people: [], teams: [] }
      : await listLedPeople(database, workspaceId, person);
  const own = ownNames.map((name) => known.shown.get(name) ?? name);
  const others = names === 'policy' ? (large?.people ?? []) : led.people;
  const groups = large && { ...large.groups, team: [...large.groups.team, ...led.teams] };
  return { ...known, persons: new Set([...own, ...others]), groups };
}

/**
 * The people of teams that have at least `min` people today, and the teams and cost centres that have. A workspace without
 * teams is one team, which shows also the names that no person has, as long as it is large enough; undefined stands for
 * all its names.
 */
async function findLargeTeams(
  database: Database,
  workspaceId: string,
  min: number,
  { shown, hasPeople }: ShownNames,
): Promise<{ people: string[]; groups: GroupNames } | undefined> {
  const { hasTeams, people } = await readPresentPeople(database, workspaceId);
  const count = hasPeople ? people.length : new Set(shown.values()).size;
  if (!hasTeams && count >= min) return undefined;
  const findLarge = (kind: keyof GroupNames) =>
    // Who is in no team may belong to a small one that no one has entered.
    [...Map.groupBy(people, (person) => person[kind])].flatMap(([name, members]) =>
      name === null || members.length < min ? [] : [{ name, members }],
    );
  const teams = findLarge('team');
  return {
    people: teams.flatMap(({ members }) => members.map(({ person }) => person)),
    groups: {
      team: teams.map(({ name }) => name),
      cost_centre: findLarge('cost_centre').map(({ name }) => name),
    },
  };
}

/**
 * Decides which names of people, machines, teams and cost centres a reader sees; undefined if all. Answers, exports,
 * shared pages, digests and SQL views ask here, and nowhere else.
 */
export async function readVisibleNames(
  database: Database,
  workspaceId: string,
  policy: NamesPolicy,
  reader: NameReader = ANYONE,
): Promise<VisibleNames | undefined> {
  const visible = await readVisiblePersons(database, workspaceId, policy, reader);
  if (visible === undefined) return undefined;
  const { persons, shown } = visible;
  const names = [...shown].flatMap(([name, person]) => (persons.has(person) ? [name] : []));
  return { ...visible, names, machines: new Set(await listMachinesOf(database, workspaceId, names)) };
}

/** All names of each kind that are seen, as rows have them; a kind is missing if all its names are seen. */
export const listVisible = ({
  names,
  machines,
  groups,
}: VisibleNames): Partial<Record<NamedKind, readonly string[]>> => ({
  ...{ person: names, machine: [...machines] },
  ...groups,
});

/** Reads what a team lead sees: the names of `person`, and of the teams that this person leads today. */
export async function readLeadNames(
  database: Database,
  workspaceId: string,
  person: string,
): Promise<VisibleNames | undefined> {
  const ownNames = await listOwnNames(database, workspaceId, person);
  const policy = (await readViewPolicy(database, workspaceId)) ?? { namesFromPeople: null };
  return await readVisibleNames(database, workspaceId, policy, { names: 'led-teams', person, ownNames });
}

/** Reads the names that a workspace shows everyone who reads; undefined if all. */
export async function readPolicyNames(database: Database, workspaceId: string): Promise<VisibleNames | undefined> {
  const policy = await readViewPolicy(database, workspaceId);
  return policy && (await readVisibleNames(database, workspaceId, policy));
}

/** Text that changes with the people and groups whom a reader sees by name. */
export async function readNamesMark(
  database: Database,
  workspaceId: string,
  policy: NamesPolicy,
  reader: NameReader,
): Promise<string> {
  const visible = await readVisiblePersons(database, workspaceId, policy, reader);
  if (visible === undefined) return 'all';
  const { persons, groups } = visible;
  const toList = (names: Iterable<string>): string[] => [...names].toSorted();
  return JSON.stringify([toList(persons), groups && [toList(groups.team), toList(groups.cost_centre)]]);
}

const PSEUDONYM_LENGTH = 10;

/** The name of a person, a machine or a group where names are hidden: the same word as long as the workspace hides them. */
export const toPseudonym = (salt: string, field: string, name: string): string =>
  `${field}-${createHmac('sha256', salt).update(`${field} ${name}`).digest('hex').slice(0, PSEUDONYM_LENGTH)}`;

/** An order that does not follow names. */
export interface HiddenOrder {
  salt: string;
  /** The kinds that have hidden names. */
  kinds: ReadonlySet<NamedKind | undefined>;
}

/** Decides for one name whether a reader sees it, and what the reader sees instead. */
export interface Renaming {
  isVisible(field: string, name: string): boolean;
  rename(field: string, name: string): string;
  /** Decides the order of rows with equal figures, which would be by their names otherwise. */
  hiddenOrder: HiddenOrder;
}

/** Makes pseudonyms of all names but the visible ones. However a person is named, it is one person. */
export function createRenaming({ persons, machines, groups, shown }: VisibleNames, salt: string): Renaming {
  const toShown = (field: string, name: string): string => (field === 'person' ? (shown.get(name) ?? name) : name);
  // Names of teams differ by more than case; cost centres that do not are different ones.
  const teamKeys = groups && new Set(groups.team.map((name) => name.toLowerCase()));
  const costCentres = groups && new Set(groups.cost_centre);
  const isVisible = (field: string, name: string): boolean => {
    if (field === 'person') return persons.has(toShown(field, name));
    if (field === 'team') return teamKeys?.has(name.toLowerCase()) ?? true;
    if (field === 'cost_centre') return costCentres?.has(name) ?? true;
    return machines.has(name);
  };
  return {
    isVisible,
    rename: (field, name) => (isVisible(field, name) ? name : toPseudonym(salt, field, toShown(field, name))),
    hiddenOrder: {
      salt: createHmac('sha256', salt).update('order').digest('hex'),
      kinds: new Set<NamedKind>([
        'person',
        'machine',
        ...(groups === undefined ? [] : (['team', 'cost_centre'] as const)),
      ]),
    },
  };
}

/** Hides names as everyone may read them. Undefined if the workspace hides none. */
export async function readPolicyRenaming(
  database: Database,
  workspaceId: string,
): Promise<(Renaming & { hidesAll: boolean }) | undefined> {
  const policy = await readViewPolicy(database, workspaceId);
  const visible = policy && (await readVisibleNames(database, workspaceId, policy));
  if (visible === undefined) return undefined;
  const salt = policy?.pseudonymSalt ?? (await ensurePseudonymSalt(database, workspaceId));
  return { ...createRenaming(visible, salt), hidesAll: visible.persons.size === 0 };
}

/** Filters with pseudonyms instead of the names that are hidden. */
export function hideFilters(
  filters: Readonly<Record<string, unknown>>,
  rename: Renaming['rename'],
): Record<string, unknown> {
  const hide = ([name, value]: [string, unknown]): [string, unknown] => {
    const field = PERSON_FIELDS.get(name);
    if (field === undefined) return [name, value];
    return [
      name,
      [value]
        .flat()
        .map((each) => rename(field, String(each)))
        .toSorted(),
    ];
  };
  return Object.fromEntries(Object.entries(filters).map(hide));
}
