import type { Person as WirePerson } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';

/** A person with all names and teams. */
export type Person = Omit<WirePerson, 'figures'>;

interface PeopleFilter {
  /** Part of a name, ignoring case. */
  search?: string | undefined;
  /** Name of today's team, ignoring case; null: in none. */
  team?: string | null | undefined;
  id?: string | undefined;
}

/** The place of a person in the order of their names. */
export interface PeopleCursor {
  key: string;
  id: string;
}

/** People after a cursor, in the order of their names, without those that are merged into others, or the one with `id`. */
export async function listPeople(
  database: Database,
  workspaceId: string,
  { search, team, id }: PeopleFilter,
  { after, limit }: { after?: PeopleCursor | undefined; limit: number },
): Promise<(Person & { sort_key: string })[]> {
  const conditions: SQL[] = [sql`p.workspace_id = ${workspaceId}`];
  conditions.push(id === undefined ? sql`p.merged_into IS NULL` : sql`p.id = ${id}`);
  if (after !== undefined)
    conditions.push(
      sql`(lower(p.display_name) COLLATE "C", p.id) > (${after.key}::text COLLATE "C", ${after.id}::text)`,
    );
  if (search !== undefined)
    conditions.push(sql`EXISTS (
      SELECT FROM analytics.person_names AS n
      WHERE n.workspace_id = ${workspaceId} AND n.person_id = p.id AND strpos(lower(n.name), lower(${search}::text)) > 0)`);
  if (team !== undefined)
    conditions.push(team === null ? sql`now_in.team IS NULL` : sql`lower(now_in.team) = lower(${team}::text)`);
  const { rows } = await database.execute<Person & { sort_key: string } & Record<string, unknown>>(sql`
    SELECT p.id, p.display_name, p.email, now_in.team, now_in.cost_centre,
      ARRAY(
        SELECT t.name FROM recount.teams AS t
        JOIN recount.people AS l ON l.workspace_id = t.workspace_id AND l.id = t.lead_id
        WHERE t.workspace_id = ${workspaceId} AND coalesce(l.merged_into, l.id) = p.id ORDER BY t.name_key
      ) AS leads, p.joined_on::text, p.left_on::text, p.notes,
      p.source, lower(p.display_name) AS sort_key,
      ARRAY(
        SELECT n.name FROM recount.person_names AS n
        WHERE n.workspace_id = ${workspaceId} AND n.person_id = p.id ORDER BY n.name_key
      ) AS names,
      coalesce((
        SELECT jsonb_agg(jsonb_build_object(
          'team', t.name, 'cost_centre', m.cost_centre, 'from', CASE WHEN m.starts_on > '-infinity' THEN m.starts_on::text END
        ) ORDER BY m.starts_on DESC)
        FROM recount.team_memberships AS m LEFT JOIN recount.teams AS t ON t.workspace_id = m.workspace_id AND t.id = m.team_id
        WHERE m.workspace_id = ${workspaceId} AND m.person_id = p.id
      ), '[]') AS memberships,
      coalesce((
        SELECT jsonb_agg(jsonb_build_object('id', o.id, 'display_name', o.display_name, 'names', ARRAY(
          SELECT n.name FROM recount.person_names AS n
          WHERE n.workspace_id = ${workspaceId} AND n.person_id = o.id ORDER BY n.name_key
        )) ORDER BY o.id)
        FROM recount.people AS o WHERE o.workspace_id = ${workspaceId} AND o.merged_into = p.id
      ), '[]') AS merged
    FROM recount.people AS p
    LEFT JOIN analytics.team_memberships AS now_in ON now_in.workspace_id = p.workspace_id AND now_in.person_id = p.id
      AND now_in.starts_on <= (now() AT TIME ZONE 'UTC')::date AND now_in.ends_before > (now() AT TIME ZONE 'UTC')::date
    WHERE ${sql.join(conditions, sql` AND `)}
    ORDER BY lower(p.display_name) COLLATE "C", p.id LIMIT ${limit}`);
  return rows;
}

/** The person who has a name, ignoring case: of a key, a user, or a session. Undefined if no one has it. */
export async function resolvePerson(
  database: Database,
  workspaceId: string,
  name: string,
): Promise<{ id: string; display_name: string } | undefined> {
  const { rows } = await database.execute<{ id: string; display_name: string }>(sql`
    SELECT p.id, p.display_name FROM recount.person_names AS n
    JOIN recount.people AS o ON o.workspace_id = n.workspace_id AND o.id = n.person_id
    JOIN recount.people AS p ON p.workspace_id = o.workspace_id AND p.id = coalesce(o.merged_into, o.id)
    WHERE n.workspace_id = ${workspaceId} AND n.name_key = lower(${name}::text)`);
  return rows[0];
}
