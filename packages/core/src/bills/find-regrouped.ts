import { BillError, type BillRow, DEFAULT_WORKSPACE, NOT_BATCH, UNKNOWN_SCOPE } from './bill.ts';

type Grouped = Pick<BillRow, 'kind' | 'day' | 'lineItem' | 'model' | 'scope' | 'serviceTier'>;

/**
 * The first day whose amounts or tokens both reports have, grouped otherwise: a day as a whole and by line, a line as a
 * whole and by model, a line for all workspaces and projects and by these, by one of these and by another, or for all
 * tiers and by tier. Tokens also if only their identities differ, or if the scope of one is unknown, so that both can be
 * the same ones; amounts of an unknown scope are not compared by it. Undefined if there is none.
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
      hasOtherIds(rows, others) ||
      hasSameTokens(rows, others)
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
 * True if both have a line in parts by ids of other things, such as one workspace and one of its keys, and two of these
 * parts can have something in common: their ids of the same things are the same, and so are their tiers. Lines of a report
 * by key can lack one, so that both may have parts by workspace alone as well.
 */
function hasOtherIds(rows: readonly Grouped[], others: readonly Grouped[]): boolean {
  const [some, rest] = [rows, others].map((list) => {
    const parts = list.filter(({ scope }) => scope !== null && scope !== UNKNOWN_SCOPE);
    return Map.groupBy(parts, (row) => [...toIds(row.scope).keys()].sort().join(' '));
  });
  return [...(some ?? [])].some(([kinds, a]) =>
    [...(rest ?? [])].some(([otherKinds, b]) => {
      if (kinds === otherKinds) return false;
      const otherNames = otherKinds.split(' ');
      const both = kinds.split(' ').filter((kind) => otherNames.includes(kind));
      return hasCommon(a, b, ({ lineItem, model, scope }) => {
        const ids = toIds(scope);
        return [lineItem, model, ...both.map((kind) => ids.get(kind))];
      });
    }),
  );
}

/** True if both can have the same tokens. A line that comes again is none of the others. */
function hasSameTokens(rows: readonly Grouped[], others: readonly Grouped[]): boolean {
  const toTokens = (list: readonly Grouped[]) => list.filter(({ kind }) => kind === 'usage');
  const [a, b] = [toTokens(rows), toTokens(others)];
  const toUnknown = (list: readonly Grouped[]) => list.filter(({ scope }) => scope === UNKNOWN_SCOPE);
  const toLine = ({ lineItem, model }: Grouped): unknown[] => [lineItem, model];
  // Earlier versions stored the default workspace without a scope.
  const toPart = (row: Grouped): unknown[] => [...toLine(row), row.scope ?? DEFAULT_WORKSPACE];
  return hasCommon(a, toUnknown(b), toLine) || hasCommon(toUnknown(a), b, toLine) || hasCommon(a, b, toPart);
}

/** True if a line of the ones has the same values as one of the others, and both can be of the same tier. */
function hasCommon(a: readonly Grouped[], b: readonly Grouped[], toValues: (row: Grouped) => unknown[]): boolean {
  const toText = (row: Grouped): string => JSON.stringify(toValues(row));
  const tiersByText = new Map(
    [...Map.groupBy(b, toText)].map(([text, list]) => [text, new Set(list.map(({ serviceTier }) => serviceTier))]),
  );
  return a.some((row) => {
    const tiers = tiersByText.get(toText(row));
    return tiers !== undefined && [...tiers].some((tier) => canBeSameTier(row.serviceTier, tier));
  });
}

function canBeSameTier(a: string | null, b: string | null): boolean {
  if (a === null || b === null || a === b) return true;
  return [a, b].includes(NOT_BATCH) && ![a, b].includes('batch');
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
