import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { sessions } from '../schema/transcripts.ts';

/**
 * The names in reports of everyone who is today (UTC) in a team that a person leads, and of these teams. `person` is any
 * name of theirs.
 */
export async function listLedPeople(
  database: Database,
  workspaceId: string,
  person: string,
): Promise<{ people: string[]; teams: string[] }> {
  const { rows } = await database.execute<{ name: string; team: string }>(sql`
    SELECT DISTINCT member.display_name AS name, t.name AS team
    FROM analytics.person_names AS own
    JOIN recount.people AS lead ON lead.workspace_id = own.workspace_id
      AND coalesce(lead.merged_into, lead.id) = own.person_id
    JOIN recount.teams AS t ON t.workspace_id = own.workspace_id AND t.lead_id = lead.id
    JOIN analytics.team_memberships AS m ON m.workspace_id = own.workspace_id AND m.team = t.name
      AND m.starts_on <= (now() AT TIME ZONE 'UTC')::date AND m.ends_before > (now() AT TIME ZONE 'UTC')::date
    JOIN recount.people AS member ON member.workspace_id = own.workspace_id AND member.id = m.person_id
      AND member.merged_into IS NULL
    WHERE own.workspace_id = ${workspaceId} AND lower(own.name) = lower(${person}::text)`);
  const toNames = (key: 'name' | 'team'): string[] => [...new Set(rows.map((row) => row[key]))];
  return { people: toNames('name'), teams: toNames('team') };
}

/** The machines that only sessions under these names come from. */
export async function listMachinesOf(
  database: Database,
  workspaceId: string,
  names: readonly string[],
): Promise<string[]> {
  if (names.length === 0) return [];
  // Looks up the next pair again and again, because sessions are many and pairs are few.
  const selectFirst = (condition: SQL): SQL => sql`
    SELECT person, machine FROM ${sessions}
    WHERE workspace_id = ${workspaceId} AND person IS NOT NULL AND machine IS NOT NULL AND ${condition}
    ORDER BY person, machine LIMIT 1`;
  const { rows } = await database.execute<{ machine: string }>(sql`
    WITH RECURSIVE pairs AS (
      (${selectFirst(sql`true`)})
      UNION ALL
      SELECT next.person, next.machine FROM pairs AS before CROSS JOIN LATERAL (
        ${selectFirst(sql`(person, machine) > (before.person, before.machine)`)}
      ) AS next
    ), owned AS (
      SELECT machine FROM pairs GROUP BY machine HAVING bool_and(person = ANY(${sql.param([...names])}::text[]))
    )
    SELECT machine FROM owned
    WHERE NOT EXISTS (
      SELECT FROM ${sessions} AS other
      WHERE other.workspace_id = ${workspaceId} AND other.person IS NULL AND other.machine = owned.machine
    )`);
  return rows.map(({ machine }) => machine);
}
