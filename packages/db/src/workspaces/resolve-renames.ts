/** New names, by the names that they replace. */
export type Renames = ReadonlyMap<string, string>;

/** The name that repositories should get is itself renamed, so that they would be shown by yet another name. */
export class RenameConflictError extends Error {
  override name = 'RenameConflictError';
  readonly shownName: string;

  constructor(name: string, shownName: string) {
    super(`${name} is renamed to ${shownName}. Use that name, or undo the renaming first.`);
    this.shownName = shownName;
  }
}

/** The name that is shown instead of `name`, which may be the same. */
export function toShownName(renames: Renames, name: string): string {
  let shown = name;
  // `addRenames` makes no cycles. A damaged record of them might, and must not keep its reader forever.
  for (let steps = 0; steps <= renames.size; steps += 1) {
    const next = renames.get(shown);
    if (next === undefined) return shown;
    shown = next;
  }
  return name;
}

/**
 * Renames repositories to `newName`, and with them those that were renamed to one of them. A repository that gets back
 * the name it had before is no longer renamed. Throws RenameConflictError if `newName` would not be shown.
 */
export function addRenames(renames: Renames, names: readonly string[], newName: string): Map<string, string> {
  const changed = new Map(renames);
  const shownName = toShownName(renames, newName);
  if (shownName !== newName) {
    if (!names.includes(shownName)) throw new RenameConflictError(newName, shownName);
    changed.delete(newName);
  }
  for (const name of names) if (name !== newName) changed.set(name, newName);
  return changed;
}
