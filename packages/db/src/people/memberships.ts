import type { Database } from '../database/database.ts';
import { and, eq, gt, sql } from '../drizzle.cjs';
import { type PeopleSource, teamMemberships } from '../schema/people.ts';
import { requireTeam } from './teams.ts';

/** A team and a cost centre, by name, from a day (UTC) on; null: always. */
export interface Membership {
  team: string | null;
  /** Null: the team's. */
  costCentre: string | null;
  from: string | null;
}

interface MembershipChange {
  team?: string | null | undefined;
  costCentre?: string | null | undefined;
  /** Undefined: from today on if the person has been in a team before, and otherwise always. */
  from?: string | null | undefined;
}

type Target = { workspaceId: string; personId: string; source: PeopleSource };

const ALWAYS = '-infinity';

/**
 * Sets a person's team or cost centre from a day on, and leaves earlier days alone. Later periods are removed. Returns
 * false, changing nothing, if it is so already. Throws PeopleError for an unknown team.
 */
export async function changeMembership(
  transaction: Database,
  { workspaceId, personId, source }: Target,
  { team, costCentre, from }: MembershipChange,
): Promise<boolean> {
  const rows = await transaction
    .select({
      startsOn: teamMemberships.starts_on,
      teamId: teamMemberships.team_id,
      costCentre: teamMemberships.cost_centre,
    })
    .from(teamMemberships)
    .where(isOf(workspaceId, personId))
    .orderBy(teamMemberships.starts_on);
  const startsOn = from === undefined ? (rows.length === 0 ? ALWAYS : toToday()) : (from ?? ALWAYS);
  const before = rows.findLast((row) => compareDays(row.startsOn, startsOn) <= 0);
  const isLast = before === rows.at(-1);
  const wanted = {
    teamId:
      team === undefined
        ? (before?.teamId ?? null)
        : team === null
          ? null
          : await requireTeam(transaction, workspaceId, team),
    costCentre: costCentre === undefined ? (before?.costCentre ?? null) : costCentre,
  };
  const isSame = (before?.teamId ?? null) === wanted.teamId && (before?.costCentre ?? null) === wanted.costCentre;
  if (isSame && isLast) return false;
  await transaction
    .delete(teamMemberships)
    .where(and(isOf(workspaceId, personId), gt(teamMemberships.starts_on, startsOn)));
  if (isSame) return true;
  const values = { team_id: wanted.teamId, cost_centre: wanted.costCentre, source };
  await transaction
    .insert(teamMemberships)
    .values({ workspace_id: workspaceId, person_id: personId, starts_on: startsOn, ...values })
    .onConflictDoUpdate({
      target: [teamMemberships.workspace_id, teamMemberships.person_id, teamMemberships.starts_on],
      set: { ...values, updated_at: sql`excluded.updated_at` },
    });
  return true;
}

/** Replaces all periods of a person. Throws PeopleError for an unknown team. */
export async function replaceMemberships(
  transaction: Database,
  { workspaceId, personId, source }: Target,
  memberships: readonly Membership[],
): Promise<void> {
  await transaction.delete(teamMemberships).where(isOf(workspaceId, personId));
  for (const { team, costCentre, from } of memberships) {
    const teamId = team === null ? null : await requireTeam(transaction, workspaceId, team);
    const values = { team_id: teamId, cost_centre: costCentre, source };
    await transaction
      .insert(teamMemberships)
      .values({ workspace_id: workspaceId, person_id: personId, starts_on: from ?? ALWAYS, ...values })
      .onConflictDoUpdate({
        target: [teamMemberships.workspace_id, teamMemberships.person_id, teamMemberships.starts_on],
        set: values,
      });
  }
}

const isOf = (workspaceId: string, personId: string) =>
  and(eq(teamMemberships.workspace_id, workspaceId), eq(teamMemberships.person_id, personId));

const toToday = (): string => new Date().toISOString().slice(0, 10);

const compareDays = (a: string, b: string): number => {
  if (a === b) return 0;
  if (a === ALWAYS) return -1;
  if (b === ALWAYS) return 1;
  return a < b ? -1 : 1;
};
