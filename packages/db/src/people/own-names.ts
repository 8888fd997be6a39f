import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { sessions } from '../schema/transcripts.ts';

/** The names under which sessions of a person arrive, also exactly as sessions have them; the given name is one of them. */
export async function listOwnNames(database: Database, workspaceId: string, person: string): Promise<string[]> {
  const { rows } = await database.execute<{ name: string }>(sql`
    SELECT n.name FROM analytics.person_names AS n
    JOIN analytics.person_names AS own ON own.workspace_id = n.workspace_id AND own.person_id = n.person_id
    WHERE n.workspace_id = ${workspaceId} AND lower(own.name) = lower(${person}::text)`);
  if (rows.length === 0) return [person];
  const keys = [...new Set([...rows.map(({ name }) => name), person])];
  const { rows: found } = await database.execute<{ name: string }>(sql`
    SELECT DISTINCT person AS name FROM ${sessions}
    WHERE workspace_id = ${workspaceId} AND lower(person) IN (SELECT lower(k) FROM unnest(${sql.param(keys)}::text[]) AS k)`);
  return [...new Set([...found.map(({ name }) => name), ...keys])];
}
