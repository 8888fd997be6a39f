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
  const { rows } = await database.execute<{ name: string | null; team: string }>(sql`
    SELECT DISTINCT member.display_name AS name, t.name AS team
    FROM analytics.person_names AS own
    JOIN recount.people AS lead ON lead.workspace_id = own.workspace_id
      AND coalesce(lead.merged_into, lead.id) = own.person_id
    JOIN recount.teams AS t ON t.workspace_id = own.workspace_id AND t.lead_id = lead.id
    LEFT JOIN analytics.team_memberships AS m ON m.workspace_id = own.workspace_id AND m.team = t.name
      AND m.starts_on <= (now() AT TIME ZONE 'UTC')::date AND m.ends_before > (now() AT TIME ZONE 'UTC')::date
    LEFT JOIN recount.people AS member ON member.workspace_id = own.workspace_id AND member.id = m.person_id
      AND member.merged_into IS NULL
    WHERE own.workspace_id = ${workspaceId} AND lower(own.name) = lower(${person}::text)`);
  const people = new Set(rows.flatMap(({ name }) => name ?? []));
  return { people: [...people], teams: [...new Set(rows.map(({ team }) => team))] };
}

/** Pairs of a person and a machine that are looked through for a reader, in some tenths of a second. */
const MAX_PAIRS = 10_000;

/**
 * The machines that only sessions under these names come from. None if the workspace has more than `maxPairs` different
 * pairs of a person and a machine.
 */
export async function listMachinesOf(
  database: Database,
  workspaceId: string,
  names: readonly string[],
  maxPairs = MAX_PAIRS,
): Promise<string[]> {
  if (names.length === 0) return [];
  // Looks up the next pair again and again, because sessions are many and pairs are few.
  const selectFirst = (condition: SQL): SQL => sql`(
    SELECT person, machine FROM ${sessions}
    WHERE workspace_id = ${workspaceId} AND machine IS NOT NULL AND ${condition}
    ORDER BY person, machine LIMIT 1)`;
  const { rows } = await database.execute<{ machine: string }>(sql`
    WITH RECURSIVE pairs AS (
      ${selectFirst(sql`person IS NOT NULL`)}
      UNION ALL
      SELECT next.person, next.machine FROM pairs AS before CROSS JOIN LATERAL (
        SELECT * FROM (
          ${selectFirst(sql`person = before.person AND machine > before.machine`)}
          UNION ALL
          ${selectFirst(sql`person > before.person`)}
        ) AS following ORDER BY person, machine LIMIT 1
      ) AS next
    ), walked AS MATERIALIZED (
      SELECT person, machine FROM pairs LIMIT ${maxPairs + 1}
    ), owned AS (
      SELECT machine FROM walked GROUP BY machine HAVING bool_and(person = ANY(${sql.param([...names])}::text[]))
    )
    SELECT machine FROM owned
    WHERE (SELECT count(*) FROM walked) <= ${maxPairs} AND NOT EXISTS (
      SELECT FROM ${sessions} AS other
      WHERE other.workspace_id = ${workspaceId} AND other.person IS NULL AND other.machine = owned.machine
    )`);
  return rows.map(({ machine }) => machine);
}
