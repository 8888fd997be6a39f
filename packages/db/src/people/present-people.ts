import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';

/** Someone who has joined and not left. */
export interface PresentPerson {
  /** Name in reports. */
  person: string;
  team: string | null;
  cost_centre: string | null;
}

/** Reads who is there today (UTC), with team and cost centre, and whether the workspace has teams, even empty ones. */
export async function readPresentPeople(
  database: Database,
  workspaceId: string,
): Promise<{ hasTeams: boolean; people: PresentPerson[] }> {
  const { rows: people } = await database.execute<PresentPerson & Record<string, unknown>>(sql`
    WITH today AS (SELECT (now() AT TIME ZONE 'UTC')::date AS day)
    SELECT p.display_name AS person, m.team, m.cost_centre
    FROM today CROSS JOIN recount.people AS p
    LEFT JOIN analytics.team_memberships AS m ON m.workspace_id = p.workspace_id AND m.person_id = p.id
      AND m.starts_on <= today.day AND m.ends_before > today.day
    WHERE p.workspace_id = ${workspaceId} AND p.merged_into IS NULL
      AND coalesce(p.joined_on, today.day) <= today.day AND coalesce(p.left_on, today.day) >= today.day`);
  const { rows } = await database.execute(sql`SELECT FROM recount.teams WHERE workspace_id = ${workspaceId} LIMIT 1`);
  return { hasTeams: rows.length > 0, people };
}
