import { createHmac } from 'node:crypto';
import { PERSON_FIELDS } from '@recount/contract/access';
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

/** Readers whom no one knows, such as those of a link or a digest. */
const ANYONE: NameReader = { names: 'policy', person: null, ownNames: [] };

/** The names that someone sees who does not see all names. */
export interface VisibleNames extends Pick<ShownNames, 'shown'> {
  /** People, by their names in reports. */
  persons: ReadonlySet<string>;
  /** All names of these people, as sessions and reports have them. */
  names: readonly string[];
  /** Machines that no one else uses. */
  machines: ReadonlySet<string>;
}

/** The people, by their names in reports, whom a reader sees by name; undefined if that is everyone. */
async function readVisiblePersons(
  database: Database,
  workspaceId: string,
  { namesFromPeople }: NamesPolicy,
  { names, person, ownNames }: NameReader,
): Promise<Pick<VisibleNames, 'persons' | 'shown'> | undefined> {
  if (names === 'all' || (names === 'policy' && namesFromPeople === null)) return undefined;
  const known = await readShownNames(database, workspaceId);
  const others =
    names === 'led-teams'
      ? person === null
        ? []
        : await listLedPeople(database, workspaceId, person)
      : await listNamedPeople(database, workspaceId, namesFromPeople ?? 0, known);
  if (others === undefined) return undefined;
  const own = ownNames.map((name) => known.shown.get(name) ?? name);
  return { persons: new Set([...own, ...others]), shown: known.shown };
}

/**
 * The people of teams that have at least `min` people today. A workspace without teams is one team, which shows also the
 * names that no person has, as long as it is large enough; undefined stands for all its names.
 */
async function listNamedPeople(
  database: Database,
  workspaceId: string,
  min: number,
  { shown, hasPeople }: ShownNames,
): Promise<string[] | undefined> {
  const { hasTeams, people } = await readPresentPeople(database, workspaceId);
  if (!hasTeams) {
    const count = hasPeople ? people.length : new Set(shown.values()).size;
    return count < min ? [] : undefined;
  }
  const teams = Map.groupBy(people, ({ team }) => team);
  // Who is in no team may belong to a small one that no one has entered.
  teams.delete(null);
  return [...teams.values()].filter(({ length }) => length >= min).flatMap((team) => team.map(({ person }) => person));
}

/**
 * Decides which names of people and machines a reader sees; undefined if all. Answers, exports, shared pages, digests and
 * SQL views ask here, and nowhere else.
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

/** Reads what a team lead sees: the names of `person`, and of the teams that this person leads today. */
export async function readLeadNames(
  database: Database,
  workspaceId: string,
  person: string,
): Promise<VisibleNames | undefined> {
  const ownNames = await listOwnNames(database, workspaceId, person);
  return await readVisibleNames(
    database,
    workspaceId,
    { namesFromPeople: null },
    { names: 'led-teams', person, ownNames },
  );
}

/** Reads the names that a workspace shows everyone who reads; undefined if all. */
export async function readPolicyNames(database: Database, workspaceId: string): Promise<VisibleNames | undefined> {
  const policy = await readViewPolicy(database, workspaceId);
  return policy && (await readVisibleNames(database, workspaceId, policy));
}

/** Text that changes with the people whom a reader sees by name. */
export async function readNamesMark(
  database: Database,
  workspaceId: string,
  policy: NamesPolicy,
  reader: NameReader,
): Promise<string> {
  const visible = await readVisiblePersons(database, workspaceId, policy, reader);
  return JSON.stringify(visible === undefined ? 'all' : [...visible.persons].toSorted());
}

const PSEUDONYM_LENGTH = 10;

/** The name of a person or machine where names are hidden: the same word as long as the workspace hides them. */
export const toPseudonym = (salt: string, field: string, name: string): string =>
  `${field}-${createHmac('sha256', salt).update(`${field} ${name}`).digest('hex').slice(0, PSEUDONYM_LENGTH)}`;

/** Decides for one name whether a reader sees it, and what the reader sees instead. */
export interface Renaming {
  isVisible(field: string, name: string): boolean;
  rename(field: string, name: string): string;
  /** Decides the order of people and machines with equal figures, which would be by their names otherwise. */
  orderSalt: string;
}

/** Makes pseudonyms of all names but the visible ones. However a person is named, it is one person. */
export function createRenaming({ persons, machines, shown }: VisibleNames, salt: string): Renaming {
  const toShown = (field: string, name: string): string => (field === 'person' ? (shown.get(name) ?? name) : name);
  const isVisible = (field: string, name: string): boolean =>
    (field === 'person' ? persons : machines).has(toShown(field, name));
  return {
    isVisible,
    rename: (field, name) => (isVisible(field, name) ? name : toPseudonym(salt, field, toShown(field, name))),
    orderSalt: createHmac('sha256', salt).update('order').digest('hex'),
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

/** Filters with pseudonyms of the people and machines whose names are hidden. */
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
