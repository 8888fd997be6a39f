import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { lockWorkspace, lockWorkspaceChanges } from '../database/locks.ts';
import { and, desc, eq, inArray, isNotNull, isNull, sql } from '../drizzle.cjs';
import { repositoryRenames } from '../schema/repository-renames.ts';
import { type Actor, addAuditEntry } from './audit-log.ts';
import { addRenames, type Renames, toShownName } from './resolve-renames.ts';

/** Renamings that a workspace may have; its record in the raw store holds all of them. */
export const MAX_REPOSITORY_RENAMES = 1000;

/** A repository with a new name; or, without one, whose renaming was undone and whose sessions are about to follow. */
export type RepositoryRename = Omit<typeof repositoryRenames.$inferSelect, 'workspace_id'>;

/** The workspace has as many renamings as it may. */
export class TooManyRenamesError extends Error {
  override name = 'TooManyRenamesError';

  constructor() {
    super(`A workspace may have ${MAX_REPOSITORY_RENAMES} renamed repositories. Undo some first.`);
  }
}

const { workspace_id: workspaceColumn, name, id, new_name, shown_name, applied_at } = repositoryRenames;

/** A workspace's renamings, the latest first. */
export async function listRepositoryRenames(database: Database, workspaceId: string): Promise<RepositoryRename[]> {
  const rows = await database
    .select()
    .from(repositoryRenames)
    .where(eq(workspaceColumn, workspaceId))
    .orderBy(desc(repositoryRenames.changed_at), desc(id));
  return rows.map(({ workspace_id: _workspace, ...row }) => row);
}

/** The names that sessions should show instead of these; leaves out the ones that are not renamed. */
export async function readShownRepositories(
  database: Database,
  workspaceId: string,
  names: readonly string[],
): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await database
    .select({ name, shown_name })
    .from(repositoryRenames)
    .where(and(eq(workspaceColumn, workspaceId), inArray(name, [...new Set(names)])));
  return new Map(rows.map((row) => [row.name, row.shown_name]));
}

interface Change {
  workspaceId: string;
  actor: Actor;
}

/**
 * Renames repositories, or merges them if there are several or one has the new name already. Stored sessions follow by
 * `applyRepositoryRenames`. Returns the renamings that differ from before; none if all have that name already. Throws
 * RenameConflictError, TooManyRenamesError.
 */
export async function renameRepositories(
  transaction: Database,
  { workspaceId, actor }: Change,
  names: readonly string[],
  newName: string,
): Promise<RepositoryRename[]> {
  const before = await lockRenames(transaction, workspaceId);
  const after = addRenames(toRenames(before), names, newName);
  if (after.size > MAX_REPOSITORY_RENAMES) throw new TooManyRenamesError();
  const changed = await storeRenames(transaction, { workspaceId, actor }, before, after);
  if (changed.length === 0) return [];
  const details = { new_name: newName };
  const subjects = names.filter((each) => each !== newName);
  await addAuditEntry(transaction, { workspaceId, actor, action: 'repository.rename', subjects, details });
  return changed;
}

/** Undoes a renaming, and leaves all others as they are. Returns what it was; undefined if there is none. */
export async function undoRepositoryRename(
  transaction: Database,
  { workspaceId, actor }: Change,
  renameId: string,
): Promise<RepositoryRename | undefined> {
  const before = await lockRenames(transaction, workspaceId);
  const undone = before.find((row) => row.id === renameId && row.new_name !== null);
  if (undone === undefined) return undefined;
  const after = toRenames(before);
  after.delete(undone.name);
  await storeRenames(transaction, { workspaceId, actor }, before, after);
  const details = { new_name: undone.new_name };
  const subjects = [undone.name];
  await addAuditEntry(transaction, { workspaceId, actor, action: 'repository.undo-rename', subjects, details });
  return undone;
}

/** Reads the renamings, which no one else can change until the transaction ends. */
async function lockRenames(transaction: Database, workspaceId: string): Promise<RepositoryRename[]> {
  // Against its deletion.
  await lockWorkspace(transaction, workspaceId, 'shared');
  await lockWorkspaceChanges(transaction, workspaceId);
  return await listRepositoryRenames(transaction, workspaceId);
}

const toRenames = (rows: readonly RepositoryRename[]): Map<string, string> =>
  new Map(rows.flatMap((row) => (row.new_name === null ? [] : [[row.name, row.new_name]])));

/** Stores what has changed, and returns the renamings among it. One that was undone stays until sessions follow. */
async function storeRenames(
  transaction: Database,
  { workspaceId, actor }: Change,
  before: readonly RepositoryRename[],
  after: Renames,
): Promise<RepositoryRename[]> {
  const names = new Set([...before.map((row) => row.name), ...after.keys()]);
  const rows = [...names].flatMap((each) => {
    const old = before.find((row) => row.name === each);
    const [newName, shownName] = [after.get(each) ?? null, toShownName(after, each)];
    if (old?.new_name === newName && old.shown_name === shownName) return [];
    const isFollowing = old?.new_name === newName;
    return [
      {
        ...{ name: each, new_name: newName, shown_name: shownName },
        // One whose sessions follow another renaming stays who did it, and when.
        ...(isFollowing ? { actor: old.actor, changed_at: old.changed_at } : { actor, changed_at: sql`now()` }),
        // Another id, so that a worker that applies the earlier renaming now does not mark this one as applied.
        ...{ workspace_id: workspaceId, id: ulid(), checked_count: null, session_count: null },
        applied_at: old?.shown_name === shownName ? old.applied_at : null,
      },
    ];
  });
  if (rows.length === 0) return [];
  const others = [
    'id',
    'new_name',
    'shown_name',
    'actor',
    'changed_at',
    'applied_at',
    'checked_count',
    'session_count',
  ];
  const stored = await transaction
    .insert(repositoryRenames)
    .values(rows)
    .onConflictDoUpdate({
      target: [workspaceColumn, name],
      set: Object.fromEntries(others.map((column) => [column, sql.raw(`excluded.${column}`)])),
    })
    .returning();
  return stored.flatMap(({ workspace_id: _workspace, ...row }) => (row.new_name === null ? [] : [row]));
}

/** Workspaces whose stored sessions do not show all names yet. */
export async function listUnappliedWorkspaces(database: Database): Promise<string[]> {
  const rows = await database
    .select({ id: workspaceColumn })
    .from(repositoryRenames)
    .where(isNull(applied_at))
    .groupBy(workspaceColumn);
  return rows.map((row) => row.id);
}

/** Ids of the renamings that stored sessions do not show yet. */
export async function listUnapplied(database: Database, workspaceId: string): Promise<string[]> {
  const rows = await database
    .select({ id })
    .from(repositoryRenames)
    .where(and(eq(workspaceColumn, workspaceId), isNull(applied_at)));
  return rows.map((row) => row.id);
}

/** Records how many of the workspace's sessions were looked at. */
export async function reportApplied(
  database: Database,
  workspaceId: string,
  renameIds: readonly string[],
  counts: Pick<RepositoryRename, 'checked_count' | 'session_count'>,
): Promise<void> {
  await database
    .update(repositoryRenames)
    .set(counts)
    .where(and(eq(workspaceColumn, workspaceId), inArray(id, [...renameIds])));
}

/** Records that all stored sessions show the names. Removes the ones that were undone. */
export async function markApplied(
  transaction: Database,
  workspaceId: string,
  renameIds: readonly string[],
): Promise<void> {
  const applied = and(eq(workspaceColumn, workspaceId), inArray(id, [...renameIds]));
  await transaction.delete(repositoryRenames).where(and(applied, isNull(new_name)));
  await transaction.update(repositoryRenames).set({ applied_at: sql`now()` }).where(applied);
}

/** A renaming in the workspace's record. */
export type RecordedRename = Pick<RepositoryRename, 'name' | 'id' | 'actor' | 'changed_at'> & { new_name: string };

/** The renamings of workspaces for their records. */
export async function listRecordedRenames(
  database: Database,
  workspaceIds: readonly string[],
): Promise<(RecordedRename & { workspace_id: string })[]> {
  const rows = await database
    .select()
    .from(repositoryRenames)
    .where(and(inArray(workspaceColumn, [...workspaceIds]), isNotNull(new_name)))
    .orderBy(name);
  return rows.map((row) => ({ ...row, new_name: row.new_name ?? row.shown_name }));
}

/** Stores the renamings of a workspace that has no sessions yet. */
export async function restoreRenames(
  transaction: Database,
  workspaceId: string,
  recorded: readonly RecordedRename[],
): Promise<void> {
  if (recorded.length === 0) return;
  const renames = new Map(recorded.map((each) => [each.name, each.new_name]));
  const rows = recorded.map((each) => ({
    ...{ name: each.name, id: each.id, new_name: each.new_name, actor: each.actor, changed_at: each.changed_at },
    ...{ workspace_id: workspaceId, shown_name: toShownName(renames, each.name), applied_at: sql`now()` },
  }));
  await transaction.insert(repositoryRenames).values(rows).onConflictDoNothing();
}
