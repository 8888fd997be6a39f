import type { Database } from '../database/database.ts';
import { asc, eq, getTableColumns, sql } from '../drizzle.cjs';
import { people, personNames, teamMemberships, teams } from '../schema/people.ts';

const TABLES = { teams, people, person_names: personNames, team_memberships: teamMemberships } as const;
const KEYS = {
  teams: teams.id,
  people: people.id,
  person_names: personNames.name_key,
  team_memberships: teamMemberships.person_id,
} as const;

/** A row of a table about people, without its workspace. */
export interface PeopleRow {
  table: keyof typeof TABLES;
  row: Record<string, unknown>;
}

export const isPeopleTable = (name: unknown): name is PeopleRow['table'] =>
  typeof name === 'string' && Object.hasOwn(TABLES, name);

const tableNames = Object.keys(TABLES) as PeopleRow['table'][];

/** Changes with each change of a workspace's people and teams; undefined if it has none. */
export async function readPeopleState(database: Database, workspaceId: string): Promise<string | undefined> {
  const states: string[] = [];
  for (const name of tableNames) {
    const { rows } = await database.execute<{ state: string | null }>(sql`
      SELECT sum(hashtextextended(to_jsonb(t)::text, 0))::text AS state FROM ${TABLES[name]} AS t
      WHERE t.workspace_id = ${workspaceId}`);
    states.push(rows[0]?.state ?? '');
  }
  return states.every((state) => state === '') ? undefined : states.join('/');
}

/** All people, names, teams and memberships of a workspace, table by table. */
export async function* listPeopleRows(database: Database, workspaceId: string): AsyncGenerator<PeopleRow[]> {
  for (const table of tableNames) {
    const rows: Record<string, unknown>[] = await database
      .select(getTableColumns(TABLES[table]))
      .from(TABLES[table])
      .where(eq(TABLES[table].workspace_id, workspaceId))
      .orderBy(asc(KEYS[table]));
    yield rows.map(({ workspace_id: _workspace, ...row }) => ({ table, row }));
  }
}

/** Stores rows of `listPeopleRows` again, and leaves those alone that are there. */
export async function restorePeopleRows(
  transaction: Database,
  workspaceId: string,
  rows: readonly PeopleRow[],
): Promise<void> {
  for (const [table, ofTable] of Map.groupBy(rows, (row) => row.table)) {
    const values = ofTable.map(({ row }) => ({ ...row, workspace_id: workspaceId }));
    await transaction
      .insert(TABLES[table])
      // Rows that lack a required column are refused by the database.
      .values(values as never)
      .onConflictDoNothing();
  }
}
