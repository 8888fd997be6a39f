import { createHmac } from 'node:crypto';
import { PERSON_FIELDS } from '@recount/contract/access';
import {
  type Database,
  ensurePseudonymSalt,
  hidesNames,
  type KeyHolder,
  listMachines,
  readShownNames,
  readVisibleNames,
  toPseudonym,
} from '@recount/db';
import type { Access } from './access.ts';
import type { Mask } from './mask-answer.ts';

const PSEUDONYM = /^(?:person|machine)-[0-9a-f]{10}$/;
/** Names that are translated back from their pseudonyms. */
const MAX_NAMES = 10_000;

/** Names that are hidden from one reader. */
export interface HiddenNames {
  rename: NonNullable<Mask['rename']>;
  /** Decides the order of people and machines with equal figures, which would be by their names otherwise. */
  orderSalt: string;
  /** Replaces pseudonyms in the query of a request by names. Returns the parameter that has anything else, if one has. */
  translate(query: Record<string, unknown>): Promise<{ field: string; value: string } | undefined>;
}

/** Undefined if the reader sees all names. `ownNames` are the reader's, and always seen. */
export async function findHiddenNames(
  database: Database,
  { workspaceId, policy }: Pick<KeyHolder, 'workspaceId' | 'policy'>,
  { names, person, ownNames }: Pick<Access, 'names' | 'person'> & { ownNames: readonly string[] },
): Promise<HiddenNames | undefined> {
  if (names === 'all' || (names === 'policy' && policy.namesFromPeople === null)) return undefined;
  const { shown, peopleCount } = await readShownNames(database, workspaceId);
  if (names === 'policy' && !hidesNames(policy, { peopleCount })) return undefined;
  const salt = policy.pseudonymSalt ?? (await ensurePseudonymSalt(database, workspaceId));
  // However a person is named, it is one person.
  const toPerson = (name: string): string => shown.get(name) ?? name;
  const leadName = names === 'led-teams' ? (person ?? undefined) : undefined;
  const { persons, machines } = await readVisibleNames(database, workspaceId, shown, { ownNames, leadName });
  const isVisible = (field: string, name: string): boolean =>
    field === 'person' ? persons.has(toPerson(name)) : machines.has(name);
  return {
    orderSalt: createHmac('sha256', salt).update('order').digest('hex'),
    rename: (field, name) =>
      isVisible(field, name) ? name : toPseudonym(salt, field, field === 'person' ? toPerson(name) : name),
    async translate(query) {
      for (const field of new Set(PERSON_FIELDS.values())) {
        if (query[field] === undefined) continue;
        const wanted = [query[field]].flat().map(String);
        const known =
          field === 'person' ? [...new Set(shown.values())] : await listMachines(database, workspaceId, MAX_NAMES);
        const byPseudonym = new Map(known.map((name) => [toPseudonym(salt, field, name), name]));
        const toName = (value: string): string | undefined =>
          isVisible(field, value) ? value : PSEUDONYM.test(value) ? byPseudonym.get(value) : undefined;
        const unknown = wanted.find((value) => toName(value) === undefined);
        if (unknown !== undefined) return { field, value: unknown };
        query[field] = wanted.map(toName);
      }
      return undefined;
    },
  };
}
