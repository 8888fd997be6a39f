import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';

/** Something that arrived under a person's name, which is null if unknown. */
interface Sent {
  person: string | null;
}

/**
 * Gives rows, in the same order, the people that reports show for the names under which they arrived. `sent_person` is
 * that name.
 */
export async function showPeople<Row extends Sent>(
  database: Database,
  workspaceId: string,
  rows: readonly Row[],
): Promise<(Row & { sent_person: string | null })[]> {
  const names = [...new Set(rows.flatMap(({ person }) => person ?? []))];
  const people = new Map<string, string>();
  if (names.length > 0) {
    const { rows: found } = await database.execute<{ name: string; person: string }>(sql`
      SELECT sent.name, p.display_name AS person
      FROM unnest(${sql.param(names)}::text[]) AS sent (name)
      JOIN recount.person_names AS n ON n.workspace_id = ${workspaceId} AND n.name_key = lower(sent.name)
      JOIN recount.people AS o ON o.workspace_id = n.workspace_id AND o.id = n.person_id
      JOIN recount.people AS p ON p.workspace_id = o.workspace_id AND p.id = coalesce(o.merged_into, o.id)`);
    for (const { name, person } of found) people.set(name, person);
  }
  return rows.map((row) => {
    const sent = row.person;
    return { ...row, person: sent === null ? null : (people.get(sent) ?? sent), sent_person: sent };
  });
}
