import { toVisible } from '@recount/contract/conversation';
import { toShortModel } from './values.ts';

const NO_NAMES: Readonly<Record<string, string | undefined>> = {
  model: 'Unknown model',
  repository: 'No repository',
  project: 'No folder',
  agent: 'Unknown agent',
  person: 'Unknown person',
  team: 'No team',
  cost_centre: 'No cost centre',
  machine: 'Unknown machine',
  kind_of_work: 'Unknown kind',
};

/** The name of what has none in a dimension: `Unknown person`, `No team`. */
export const toNoName = (dimension: string): string => NO_NAMES[dimension] ?? 'Unknown';

/** The part of a name that people say, for the dimensions that have one. */
const toParts: Readonly<Record<string, ((name: string) => string) | undefined>> = {
  repository: (name) => name.slice(name.lastIndexOf('/') + 1),
  person: (name) => name.replace(/@.*/, ''),
  model: toShortModel,
};

/**
 * A name as short as people say it (a repository without host and owner, a person without the domain), if no other of
 * the names beside it would be the same.
 */
export function toPlainName(dimension: string, name: string, others: readonly (string | null)[]): string {
  const toShort = toParts[dimension] ?? ((whole: string) => whole);
  const short = toShort(name);
  const isAmbiguous = others.some((other) => other !== null && other !== name && toShort(other) === short);
  return toVisible(isAmbiguous || short === '' ? name : short);
}
