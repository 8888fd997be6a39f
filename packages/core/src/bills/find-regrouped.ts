import { BillError, type BillRow, DEFAULT_WORKSPACE, UNKNOWN_SCOPE } from './bill.ts';

type Grouped = Pick<BillRow, 'kind' | 'day' | 'lineItem' | 'model' | 'scope' | 'serviceTier'>;

/**
 * The first day whose amounts or tokens both reports have, grouped otherwise: a day as a whole and by line, a line as a
 * whole and by model, a line for all workspaces and projects and by these, by one of these and by another, or for all
 * tiers and by tier. Undefined if there is none. The scope of lines with `UNKNOWN_SCOPE` is not compared.
 */
export function findRegrouped(added: readonly Grouped[], stored: readonly Grouped[]): string | undefined {
  const toPart = ({ day, kind }: Grouped): string => JSON.stringify([day, kind]);
  const storedByPart = Map.groupBy(stored, toPart);
  const isRegrouped = ([part, rows]: [string, Grouped[]]): boolean => {
    const others = storedByPart.get(part) ?? [];
    const isWithin = (toLine: (row: Grouped) => string | null, isWhole: (row: Grouped) => boolean): boolean => {
      const othersByLine = Map.groupBy(others, toLine);
      return [...Map.groupBy(rows, toLine)].some(
        ([line, ofLine]) => line !== null && isOtherwise(ofLine, othersByLine.get(line) ?? [], isWhole),
      );
    };
    return (
      isOtherwise(rows, others, (row) => row.lineItem === null && row.model === null) ||
      isWithin(
        ({ lineItem }) => lineItem,
        ({ model }) => model === null,
      ) ||
      isWithin(
        ({ lineItem, model, scope: own }) => (own === UNKNOWN_SCOPE ? null : JSON.stringify([lineItem, model])),
        ({ scope }) => scope === null,
      ) ||
      isWithin(
        ({ lineItem, model, scope }) => JSON.stringify([lineItem, model, scope]),
        ({ serviceTier }) => serviceTier === null,
      ) ||
      hasOtherIds(rows, others)
    );
  };
  const found = [...Map.groupBy(added, toPart).entries()].filter(isRegrouped).map(([, rows]) => rows[0]?.day ?? '');
  return found.sort()[0];
}

/** The ids of a scope by what they are of, such as `wrkspc` or `apikey`, which their beginnings say. */
function toIds(scope: string | null): Map<string, string> {
  const ids = (scope ?? '').split(' ').filter((id) => id !== '');
  return new Map(ids.map((id) => [id === DEFAULT_WORKSPACE ? 'wrkspc' : (/^[a-z]+/i.exec(id)?.[0] ?? ''), id]));
}

/**
 * True if both have a line in parts by ids of other things, such as one workspace and one of its keys, and the parts can
 * have something in common.
 */
function hasOtherIds(rows: readonly Grouped[], others: readonly Grouped[]): boolean {
  const toLine = ({ lineItem, model }: Grouped): string => JSON.stringify([lineItem, model]);
  const toParts = (list: readonly Grouped[]) =>
    Map.groupBy(
      list.filter(({ scope }) => scope !== null && scope !== UNKNOWN_SCOPE),
      toLine,
    );
  const othersByLine = toParts(others);
  const toKinds = (ids: ReadonlyMap<string, string>): string => [...ids.keys()].sort().join(' ');
  return [...toParts(rows)].some(([line, ofLine]) => {
    const [some, rest] = [ofLine, othersByLine.get(line) ?? []].map((list) => list.map(({ scope }) => toIds(scope)));
    const kinds = new Set(some?.map(toKinds));
    if (rest?.some((ids) => kinds.has(toKinds(ids)))) return false;
    return some?.some((a) => rest?.some((b) => [...a].every(([kind, id]) => (b.get(kind) ?? id) === id))) ?? false;
  });
}

/** True if all of the ones are whole and none of the others. */
function isOtherwise(a: readonly Grouped[], b: readonly Grouped[], isWhole: (row: Grouped) => boolean): boolean {
  if (a.length === 0 || b.length === 0) return false;
  return (a.every(isWhole) && !b.some(isWhole)) || (b.every(isWhole) && !a.some(isWhole));
}

/** Throws BillError if two parts of a bill have the same amounts, grouped otherwise. Lines that both have count once. */
export function requireSameGroups(added: readonly BillRow[], earlier: readonly BillRow[]): void {
  const again = new Set(added.map(({ identity }) => identity));
  const others = earlier.filter(({ identity }) => !again.has(identity));
  const day = findRegrouped(added, others);
  if (day !== undefined)
    throw new BillError(`It has the amounts of ${day} twice, grouped otherwise. Import one of the two`);
}
