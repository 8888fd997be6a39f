import { createHmac } from 'node:crypto';
import { PERSON_FIELDS } from '@recount/contract/access';
import type { Database } from '../database/database.ts';
import { listLedPeople, listMachinesOf } from '../people/led-people.ts';
import { listOwnNames } from '../people/own-names.ts';
import { readViewPolicy, type ViewPolicy } from '../workspaces/api-keys.ts';
import { readShownNames, type ShownNames } from './resolve-people.ts';

/** The names that someone sees who does not see all names. */
export interface VisibleNames {
  /** People, by their names in reports. */
  persons: ReadonlySet<string>;
  /** All names of these people, as sessions and reports have them. */
  names: readonly string[];
  /** Machines that no one else uses. */
  machines: ReadonlySet<string>;
}

/**
 * The names of the person who has `ownNames`, and of everyone in the teams that `leadName`, any name of a person, leads
 * today. `shown` is the name in reports of each name.
 */
export async function readVisibleNames(
  database: Database,
  workspaceId: string,
  shown: ReadonlyMap<string, string>,
  { ownNames, leadName }: { ownNames: readonly string[]; leadName?: string | undefined },
): Promise<VisibleNames> {
  const led = leadName === undefined ? [] : await listLedPeople(database, workspaceId, leadName);
  const persons = new Set([...ownNames.map((name) => shown.get(name) ?? name), ...led]);
  const names = [...shown].flatMap(([name, person]) => (persons.has(person) ? [name] : []));
  const machines = new Set(await listMachinesOf(database, workspaceId, names));
  return { persons, names, machines };
}

/** Reads what a team lead sees: the names of `person`, and of the teams that this person leads today. */
export async function readLeadNames(database: Database, workspaceId: string, person: string): Promise<VisibleNames> {
  const { shown } = await readShownNames(database, workspaceId);
  const ownNames = await listOwnNames(database, workspaceId, person);
  return await readVisibleNames(database, workspaceId, shown, { ownNames, leadName: person });
}

/** True if a workspace hides names of people and machines, because it has fewer people than its policy asks for. */
export const hidesNames = (
  { namesFromPeople }: Pick<ViewPolicy, 'namesFromPeople'>,
  { peopleCount }: Pick<ShownNames, 'peopleCount'>,
): boolean => namesFromPeople !== null && peopleCount < namesFromPeople;

const PSEUDONYM_LENGTH = 10;

/** The name of a person or machine where names are hidden: the same word as long as the workspace hides them. */
export const toPseudonym = (salt: string, field: string, name: string): string =>
  `${field}-${createHmac('sha256', salt).update(`${field} ${name}`).digest('hex').slice(0, PSEUDONYM_LENGTH)}`;

/**
 * Filters as everyone may read them: with pseudonyms of people and machines, where a workspace hides their names. Undefined
 * if it does not.
 */
export async function hideFilters(
  database: Database,
  workspaceId: string,
  filters: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown> | undefined> {
  const policy = await readViewPolicy(database, workspaceId);
  if (policy === undefined || policy.namesFromPeople === null || policy.pseudonymSalt === null) return undefined;
  const { shown, peopleCount } = await readShownNames(database, workspaceId);
  if (!hidesNames(policy, { peopleCount })) return undefined;
  const salt = policy.pseudonymSalt;
  const hide = ([name, value]: [string, unknown]): [string, unknown] => {
    const field = PERSON_FIELDS.get(name);
    if (field === undefined) return [name, value];
    const names = [value].flat().map(String);
    return [name, names.map((each) => toPseudonym(salt, field, shown.get(each) ?? each)).toSorted()];
  };
  return Object.fromEntries(Object.entries(filters).map(hide));
}

/** True if a workspace hides names of people and machines from those who see only what it shows everyone. */
export async function isHidingNames(database: Database, workspaceId: string): Promise<boolean> {
  const policy = await readViewPolicy(database, workspaceId);
  if (policy === undefined || policy.namesFromPeople === null) return false;
  return hidesNames(policy, await readShownNames(database, workspaceId));
}
