import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { lockWorkspaceChanges } from '../database/locks.ts';
import { and, eq, inArray, notInArray, or, sql } from '../drizzle.cjs';
import { type PeopleSource, people, personNames, teamMemberships, teams } from '../schema/people.ts';
import { addAuditEntry } from '../workspaces/audit-log.ts';
import { emptyPagesAfterPeople } from '../workspaces/workspace-settings.ts';
import { changeMembership, type Membership, replaceMemberships } from './memberships.ts';
import { PeopleError } from './people-errors.ts';
import type { PeopleScope } from './people-scope.ts';
import { requireTeam } from './teams.ts';

/** Fields of a person that are missing stay as they are. */
export interface PersonChange {
  displayName?: string | undefined;
  email?: string | null | undefined;
  /** All further names, besides those two. Names that are left out become unattributed. */
  names?: readonly string[] | undefined;
  joinedOn?: string | null | undefined;
  leftOn?: string | null | undefined;
  notes?: string | null | undefined;
  team?: string | null | undefined;
  costCentre?: string | null | undefined;
  /** First day (UTC) of team and cost centre, see `changeMembership`. */
  teamFrom?: string | null | undefined;
  /** All teams at all times, instead of the three fields above. */
  memberships?: readonly Membership[] | undefined;
  /** Names of all teams that they lead, which have no other lead then. Teams that are left out have no lead afterwards. */
  leads?: readonly string[] | undefined;
}

/** Adds a person and returns the id. Throws PeopleError. */
export async function createPerson(
  transaction: Database,
  scope: PeopleScope,
  { displayName, ...change }: PersonChange & { displayName: string },
  source: PeopleSource = 'manual',
): Promise<string> {
  const { workspaceId, actor } = scope;
  await lockWorkspaceChanges(transaction, workspaceId);
  const id = ulid();
  await transaction.insert(people).values({ workspace_id: workspaceId, id, display_name: displayName, source });
  await writePerson(transaction, workspaceId, id, { displayName, ...change }, source);
  await emptyPagesAfterPeople(transaction, workspaceId);
  await addAuditEntry(transaction, { workspaceId, actor, action: 'person.create', subjects: [id] });
  return id;
}

/** Changes the given fields; false if there is no such person. Throws PeopleError. */
export async function changePerson(
  transaction: Database,
  { workspaceId, actor }: PeopleScope,
  id: string,
  change: PersonChange,
  source: PeopleSource = 'manual',
): Promise<boolean> {
  await lockWorkspaceChanges(transaction, workspaceId);
  const [row] = await transaction.select({ id: people.id }).from(people).where(isPerson(workspaceId, id));
  if (row === undefined) return false;
  await writePerson(transaction, workspaceId, id, change, source);
  await emptyPagesAfterPeople(transaction, workspaceId);
  // The audit log names fields only: it is kept longer than people are.
  const fields = Object.entries(change).flatMap(([field, value]) => (value === undefined ? [] : [field]));
  await addAuditEntry(transaction, {
    workspaceId,
    actor,
    action: 'person.change',
    subjects: [id],
    details: { fields },
  });
  return true;
}

async function writePerson(
  transaction: Database,
  workspaceId: string,
  id: string,
  change: PersonChange,
  source: PeopleSource,
): Promise<void> {
  const { displayName, email, joinedOn, leftOn, notes, team, costCentre, teamFrom, memberships } = change;
  const [row] = await transaction
    .update(people)
    .set({
      ...(displayName !== undefined && { display_name: displayName }),
      ...(email !== undefined && { email }),
      ...(joinedOn !== undefined && { joined_on: joinedOn }),
      ...(leftOn !== undefined && { left_on: leftOn }),
      ...(notes !== undefined && { notes }),
      updated_at: sql`now()`,
    })
    .where(isPerson(workspaceId, id))
    .returning({ displayName: people.display_name, email: people.email });
  if (row === undefined) throw new Error('There is no such person');
  await writeNames(
    transaction,
    workspaceId,
    id,
    [row.displayName, ...(row.email === null ? [] : [row.email])],
    change.names,
  );
  const target = { workspaceId, personId: id, source };
  if (memberships !== undefined) await replaceMemberships(transaction, target, memberships);
  else if (team !== undefined || costCentre !== undefined)
    await changeMembership(transaction, target, { team, costCentre, from: teamFrom });
  if (change.leads !== undefined) await writeLeads(transaction, workspaceId, id, change.leads);
}

/** Makes a person the lead of these teams, and of no other. Throws PeopleError for an unknown team. */
async function writeLeads(
  transaction: Database,
  workspaceId: string,
  personId: string,
  names: readonly string[],
): Promise<void> {
  const ids: string[] = [];
  for (const name of names) ids.push(await requireTeam(transaction, workspaceId, name));
  const setLead = (lead_id: string | null) => transaction.update(teams).set({ lead_id, updated_at: sql`now()` });
  const isOf = eq(teams.workspace_id, workspaceId);
  await setLead(null).where(and(isOf, eq(teams.lead_id, personId), notInArray(teams.id, ids)));
  await setLead(personId).where(and(isOf, inArray(teams.id, ids)));
}

/** Gives a person the names, and with `others` takes all further ones away. Throws PeopleError if someone has one. */
async function writeNames(
  transaction: Database,
  workspaceId: string,
  personId: string,
  own: readonly string[],
  others?: readonly string[],
): Promise<void> {
  const names = [...own, ...(others ?? [])];
  const isOwn = and(eq(personNames.workspace_id, workspaceId), eq(personNames.person_id, personId));
  if (others !== undefined) await transaction.delete(personNames).where(isOwn);
  await transaction.execute(sql`
    INSERT INTO ${personNames} (workspace_id, name_key, name, person_id)
    SELECT DISTINCT ON (lower(name)) ${workspaceId}, lower(name), name, ${personId}
    FROM unnest(${sql.param(names)}::text[]) WITH ORDINALITY AS n (name, number) ORDER BY lower(name), number
    ON CONFLICT (workspace_id, name_key) DO NOTHING`);
  const { rows } = await transaction.execute<{ name: string; owner: string }>(sql`
    SELECT n.name, p.display_name AS owner FROM ${personNames} AS n
    JOIN ${people} AS p ON p.workspace_id = n.workspace_id AND p.id = n.person_id
    WHERE n.workspace_id = ${workspaceId} AND n.person_id <> ${personId} AND p.merged_into IS DISTINCT FROM ${personId}
      AND n.name_key IN (SELECT lower(name) FROM unnest(${sql.param(names)}::text[]) AS wanted (name))
    ORDER BY n.name_key LIMIT 1`);
  const [taken] = rows;
  if (taken === undefined) return;
  const message = `${taken.name} is a name of ${taken.owner}. Merge the two people, or remove the name there first`;
  throw new PeopleError('name-taken', 'names', message);
}

/**
 * Deletes a person with those merged into them; their sessions become unattributed. False if there is no such person.
 */
export async function deletePerson(
  transaction: Database,
  { workspaceId, actor }: PeopleScope,
  id: string,
): Promise<boolean> {
  await lockWorkspaceChanges(transaction, workspaceId);
  const rows = await transaction
    .delete(people)
    .where(and(eq(people.workspace_id, workspaceId), or(eq(people.id, id), eq(people.merged_into, id))))
    .returning({ id: people.id });
  const ids = rows.map((row) => row.id);
  if (!ids.includes(id)) return false;
  for (const table of [personNames, teamMemberships]) {
    await transaction.delete(table).where(and(eq(table.workspace_id, workspaceId), inArray(table.person_id, ids)));
  }
  await transaction
    .update(teams)
    .set({ lead_id: null })
    .where(and(eq(teams.workspace_id, workspaceId), inArray(teams.lead_id, ids)));
  await emptyPagesAfterPeople(transaction, workspaceId);
  await addAuditEntry(transaction, { workspaceId, actor, action: 'person.delete', subjects: ids });
  return true;
}

/**
 * Merges a person into another: their names count as the other's. Their own teams no longer matter, but are kept with the
 * names, so that `undoMerge` restores everything. False if one of them does not exist. Throws PeopleError.
 */
export async function mergePerson(
  transaction: Database,
  { workspaceId, actor }: PeopleScope,
  { id, into }: { id: string; into: string },
): Promise<boolean> {
  await lockWorkspaceChanges(transaction, workspaceId);
  if (id === into) throw new PeopleError('invalid', 'into', 'A person cannot be merged into themselves');
  const rows = await transaction
    .select({ id: people.id, mergedInto: people.merged_into })
    .from(people)
    .where(and(eq(people.workspace_id, workspaceId), inArray(people.id, [id, into])));
  if (rows.length < 2) return false;
  if (rows.some((row) => row.mergedInto !== null))
    throw new PeopleError(
      'merged',
      'into',
      'One of them is merged already. Undo that first, or merge the one that is left',
    );
  // Those merged before follow. Undoing this merge leaves them with the other person; each can be undone by itself.
  await transaction
    .update(people)
    .set({ merged_into: into, updated_at: sql`now()` })
    .where(and(eq(people.workspace_id, workspaceId), or(eq(people.id, id), eq(people.merged_into, id))));
  await emptyPagesAfterPeople(transaction, workspaceId);
  await addAuditEntry(transaction, { workspaceId, actor, action: 'person.merge', subjects: [id, into] });
  return true;
}

/** Separates a merged person again; false if there is no such person, or they are not merged. */
export async function undoMerge(
  transaction: Database,
  { workspaceId, actor }: PeopleScope,
  id: string,
): Promise<boolean> {
  await lockWorkspaceChanges(transaction, workspaceId);
  const rows = await transaction
    .update(people)
    .set({ merged_into: null, updated_at: sql`now()` })
    .where(and(isPerson(workspaceId, id), sql`${people.merged_into} IS NOT NULL`))
    .returning({ id: people.id });
  if (rows.length === 0) return false;
  await emptyPagesAfterPeople(transaction, workspaceId);
  await addAuditEntry(transaction, { workspaceId, actor, action: 'person.unmerge', subjects: [id] });
  return true;
}

const isPerson = (workspaceId: string, id: string) => and(eq(people.workspace_id, workspaceId), eq(people.id, id));
