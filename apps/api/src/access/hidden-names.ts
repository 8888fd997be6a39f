import { PERSON_FIELDS } from '@recount/contract/access';
import {
  createRenaming,
  type Database,
  ensurePseudonymSalt,
  type KeyHolder,
  listMachines,
  type NameReader,
  type Renaming,
  readVisibleNames,
  toPseudonym,
  type VisibleNames,
} from '@recount/db';

const PSEUDONYM = /^(?:person|machine|team|cost_centre)-[0-9a-f]{10}$/;
/** Names that are translated back from their pseudonyms. */
const MAX_NAMES = 10_000;

/** Names that are hidden from one reader. */
export interface HiddenNames extends Renaming {
  /** Replaces pseudonyms in the query of a request by names. Returns the parameter that has anything else, if one has. */
  translate(query: Record<string, unknown>): Promise<{ field: string; value: string } | undefined>;
}

const toKnown = ({ shown, teams, costCentres }: VisibleNames) => ({
  ...{ person: [...new Set(shown.values())], team: teams, cost_centre: costCentres },
});

/** Undefined if the reader, by default anyone, sees all names. */
export async function findHiddenNames(
  database: Database,
  { workspaceId, policy }: Pick<KeyHolder, 'workspaceId' | 'policy'>,
  reader?: NameReader,
): Promise<HiddenNames | undefined> {
  const visible = await readVisibleNames(database, workspaceId, policy, reader);
  if (visible === undefined) return undefined;
  const salt = policy.pseudonymSalt ?? (await ensurePseudonymSalt(database, workspaceId));
  const renaming = createRenaming(visible, salt);
  const isShown = (name: string): boolean =>
    [...visible.shown.keys()].some((shown) => shown.toLowerCase() === name.toLowerCase());
  /** A reader's name that nothing has would be taken for a part of others' names; its pseudonym is a part of none. */
  const toExact = (field: string, name: string): string =>
    field === 'person' && !isShown(name) ? toPseudonym(salt, field, name) : name;
  return {
    ...renaming,
    async translate(query) {
      for (const field of new Set(PERSON_FIELDS.values())) {
        if (query[field] === undefined) continue;
        const wanted = [query[field]].flat().map(String);
        const known =
          field === 'machine' ? await listMachines(database, workspaceId, MAX_NAMES) : toKnown(visible)[field];
        const byPseudonym = new Map(known.map((name) => [toPseudonym(salt, field, name), name]));
        const toName = (value: string): string | undefined =>
          renaming.isVisible(field, value)
            ? toExact(field, value)
            : PSEUDONYM.test(value)
              ? byPseudonym.get(value)
              : undefined;
        const unknown = wanted.find((value) => toName(value) === undefined);
        if (unknown !== undefined) return { field, value: unknown };
        query[field] = wanted.map(toName);
      }
      return undefined;
    },
  };
}
