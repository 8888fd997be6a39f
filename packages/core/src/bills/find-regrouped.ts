import { BillError, type BillRow, UNKNOWN_SCOPE } from './bill.ts';

type Grouped = Pick<BillRow, 'kind' | 'day' | 'lineItem' | 'model' | 'scope' | 'serviceTier'>;

/**
 * The first day whose amounts or tokens both reports have, grouped otherwise: a day as a whole and by line, a line as a
 * whole and by model, a line for all workspaces and projects and by these, or for all tiers and by tier. Undefined if there
 * is none. The scope of lines with `UNKNOWN_SCOPE` is not compared.
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
      )
    );
  };
  const found = [...Map.groupBy(added, toPart).entries()].filter(isRegrouped).map(([, rows]) => rows[0]?.day ?? '');
  return found.sort()[0];
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
