import { createHash } from 'node:crypto';
import type { Team } from '@recount/contract';
import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { lockWorkspaceChanges } from '../database/locks.ts';
import { and, eq, sql } from '../drizzle.cjs';
import { people, teamMemberships, teams } from '../schema/people.ts';
import { addAuditEntry } from '../workspaces/audit-log.ts';
import { emptyPagesAfterPeople } from '../workspaces/workspace-settings.ts';
import { PeopleError } from './people-errors.ts';
import type { PeopleScope } from './people-scope.ts';

/**
 * Teams after the one of this name, in the order of their names; with `id` or `name` only that one. With `orderSalt`, after
 * the place and in the order of `toTeamPlace`.
 */
export async function listTeams(
  database: Database,
  workspaceId: string,
  { id, name, after, limit, orderSalt }: TeamPage,
): Promise<Team[]> {
  const key = orderSalt === undefined ? sql`t.name_key` : sql`md5(${orderSalt}::text || t.id) COLLATE "C"`;
  const { rows } = await database.execute<Team & Record<string, unknown>>(sql`
    SELECT t.id, t.name, t.cost_centre,
      CASE WHEN p.id IS NOT NULL THEN jsonb_build_object('id', p.id, 'display_name', p.display_name) END AS lead,
      (
        SELECT count(*)::int FROM (
          SELECT DISTINCT ON (m.person_id) m.person_id, m.team_id FROM ${teamMemberships} AS m
          JOIN ${people} AS member ON member.workspace_id = m.workspace_id AND member.id = m.person_id
          WHERE m.workspace_id = ${workspaceId} AND m.starts_on <= (now() AT TIME ZONE 'UTC')::date AND member.merged_into IS NULL
          ORDER BY m.person_id, m.starts_on DESC
        ) AS now WHERE now.team_id = t.id
      ) AS members
    FROM ${teams} AS t
    LEFT JOIN ${people} AS p ON p.workspace_id = t.workspace_id AND p.id = t.lead_id
    WHERE t.workspace_id = ${workspaceId} ${id === undefined ? sql`` : sql`AND t.id = ${id}`}
      ${name === undefined ? sql`` : sql`AND t.name_key = lower(${name}::text) COLLATE "C"`}
      ${after === undefined ? sql`` : sql`AND ${key} > lower(${after}::text) COLLATE "C"`}
    ORDER BY ${key} LIMIT ${limit}`);
  return rows;
}

/** The place of a team in an order that does not follow its name. */
export const toTeamPlace = (orderSalt: string, id: string): string =>
  createHash('md5').update(`${orderSalt}${id}`).digest('hex');

interface TeamPage {
  id?: string;
  name?: string;
  after?: string | undefined;
  limit: number;
  /** Secret that decides the order where names of teams are hidden. */
  orderSalt?: string | undefined;
}

export interface TeamChange {
  name?: string | undefined;
  costCentre?: string | null | undefined;
  /** Id of a person. */
  leadId?: string | null | undefined;
}

/** Adds a team and returns its id. Throws PeopleError. */
export async function createTeam(
  transaction: Database,
  { workspaceId, actor }: PeopleScope,
  { name, costCentre = null, leadId = null }: TeamChange & { name: string },
): Promise<string> {
  await lockWorkspaceChanges(transaction, workspaceId);
  await checkName(transaction, workspaceId, name);
  await checkLead(transaction, workspaceId, leadId);
  const id = ulid();
  await transaction.insert(teams).values({
    ...{ workspace_id: workspaceId, id, name, name_key: sql`lower(${name}::text)` },
    ...{ cost_centre: costCentre, lead_id: leadId },
  });
  await emptyPagesAfterPeople(transaction, workspaceId);
  await addAuditEntry(transaction, { workspaceId, actor, action: 'team.create', subjects: [id] });
  return id;
}

/** Changes the given fields; false if there is no such team. Throws PeopleError. */
export async function changeTeam(
  transaction: Database,
  { workspaceId, actor }: PeopleScope,
  id: string,
  { name, costCentre, leadId }: TeamChange,
): Promise<boolean> {
  await lockWorkspaceChanges(transaction, workspaceId);
  if (name !== undefined) await checkName(transaction, workspaceId, name, id);
  await checkLead(transaction, workspaceId, leadId ?? null);
  const changed = await transaction
    .update(teams)
    .set({
      ...(name !== undefined && { name, name_key: sql`lower(${name}::text)` }),
      ...(costCentre !== undefined && { cost_centre: costCentre }),
      ...(leadId !== undefined && { lead_id: leadId }),
      updated_at: sql`now()`,
    })
    .where(isTeam(workspaceId, id))
    .returning({ id: teams.id });
  if (changed.length === 0) return false;
  await emptyPagesAfterPeople(transaction, workspaceId);
  const fields = Object.entries({ name, cost_centre: costCentre, lead: leadId }).flatMap(([field, value]) =>
    value === undefined ? [] : [field],
  );
  await addAuditEntry(transaction, { workspaceId, actor, action: 'team.change', subjects: [id], details: { fields } });
  return true;
}

/** Deletes a team that no one has ever been in; false if there is no such team. Throws PeopleError. */
export async function deleteTeam(
  transaction: Database,
  { workspaceId, actor }: PeopleScope,
  id: string,
): Promise<boolean> {
  await lockWorkspaceChanges(transaction, workspaceId);
  const [member] = await transaction
    .select({ id: teamMemberships.person_id })
    .from(teamMemberships)
    .where(and(eq(teamMemberships.workspace_id, workspaceId), eq(teamMemberships.team_id, id)))
    .limit(1);
  if (member !== undefined) {
    const message = 'People are or were in this team, and reports of that time show it. Move them, or rename the team';
    throw new PeopleError('team-in-use', 'team', message);
  }
  const deleted = await transaction.delete(teams).where(isTeam(workspaceId, id)).returning({ id: teams.id });
  if (deleted.length === 0) return false;
  await emptyPagesAfterPeople(transaction, workspaceId);
  await addAuditEntry(transaction, { workspaceId, actor, action: 'team.delete', subjects: [id] });
  return true;
}

/** The id of the team with this name, ignoring case. Throws PeopleError if there is none. */
export async function requireTeam(transaction: Database, workspaceId: string, name: string): Promise<string> {
  const id = await findTeam(transaction, workspaceId, name);
  if (id !== undefined) return id;
  throw new PeopleError('unknown-name', 'team', `There is no team ${name}. Add it first: recount people team`);
}

/** The id of the team with this name, ignoring case; undefined if there is none. */
export async function findTeam(database: Database, workspaceId: string, name: string): Promise<string | undefined> {
  const [row] = await database
    .select({ id: teams.id })
    .from(teams)
    .where(and(eq(teams.workspace_id, workspaceId), eq(teams.name_key, sql`lower(${name}::text)`)));
  return row?.id;
}

const isTeam = (workspaceId: string, id: string) => and(eq(teams.workspace_id, workspaceId), eq(teams.id, id));

async function checkName(transaction: Database, workspaceId: string, name: string, ownId?: string): Promise<void> {
  const id = await findTeam(transaction, workspaceId, name);
  if (id !== undefined && id !== ownId)
    throw new PeopleError('name-taken', 'name', `There is already a team with the name ${name}`);
}

async function checkLead(transaction: Database, workspaceId: string, id: string | null): Promise<void> {
  if (id === null) return;
  const [lead] = await transaction
    .select({ id: people.id })
    .from(people)
    .where(and(eq(people.workspace_id, workspaceId), eq(people.id, id)));
  if (lead === undefined) throw new PeopleError('unknown-name', 'lead_id', `There is no person with the id ${id}`);
}
