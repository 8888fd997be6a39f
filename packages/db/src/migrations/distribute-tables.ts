import pg from 'pg';
import type { Database } from '../database/database.ts';
import { drizzle, getTableColumns, getTableConfig, is, PgTable, sql } from '../drizzle.cjs';
import * as schema from '../schema/index.ts';

/** Looked up before the workspace is known, rarely written, and referred to: they are on every node. */
const REFERENCE_TABLES: readonly PgTable[] = [schema.workspaces, schema.apiKeys];
/** Triggers, codes that are unique over all workspaces, or rows of none keep them where clients connect; nothing is joined with them. */
export const LOCAL_TABLES: readonly PgTable[] = [schema.auditLog, schema.deviceRequests, schema.maintenanceChecks];
/** With whose rows of a workspace those of all other tables lie. */
const FIRST_TABLE = schema.transcripts;

const DISTRIBUTED_TABLES: readonly PgTable[] = Object.values(schema).flatMap((value: unknown) =>
  is(value, PgTable) && value !== FIRST_TABLE && isDistributable(value) ? [value] : [],
);

function isDistributable(table: PgTable): boolean {
  return !REFERENCE_TABLES.includes(table) && !LOCAL_TABLES.includes(table) && 'workspace_id' in getTableColumns(table);
}

const toName = (table: PgTable): string => {
  const { schema: schemaName = 'public', name } = getTableConfig(table);
  return `${schemaName}.${name}`;
};

/** Statements for Citus, in their order, by the table that each places: all rows of a workspace come to lie on one node. */
export function listPlacements(): { table: string; statement: string }[] {
  const first = toName(FIRST_TABLE);
  return [
    ...REFERENCE_TABLES.map(toName).map((table) => ({ table, statement: `SELECT create_reference_table('${table}')` })),
    { table: first, statement: `SELECT create_distributed_table('${first}', 'workspace_id')` },
    ...DISTRIBUTED_TABLES.map(toName).map((table) => ({
      table,
      statement: `SELECT create_distributed_table('${table}', 'workspace_id', colocate_with => '${first}')`,
    })),
  ];
}

/** Whether the tables of the database are spread over the nodes of a Citus cluster. */
export async function isDistributed(database: Database): Promise<boolean> {
  const { rows } = await database.execute<{ has_catalog: boolean }>(
    sql`SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS has_catalog`,
  );
  return rows[0]?.has_catalog === true && (await listPlaced(database)).has(toName(FIRST_TABLE));
}

/** Those that are on all nodes or spread over them. Citus also lists local tables that refer to one on all nodes. */
async function listPlaced(database: Database): Promise<Set<string>> {
  const { rows } = await database.execute<{ name: string }>(sql`
    SELECT n.nspname || '.' || c.relname AS name FROM pg_dist_partition AS p
    JOIN pg_class AS c ON c.oid = p.logicalrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE p.partmethod = 'h' OR p.repmodel = 't'`);
  return new Set(rows.map(({ name }) => name));
}

/** Functions and aggregates that statements about distributed tables call, so that the nodes have them. */
async function distributeFunctions(database: Database): Promise<void> {
  await database.execute(sql`
    SELECT create_distributed_function(p.oid::regprocedure) FROM pg_proc AS p
    WHERE p.pronamespace = 'recount'::regnamespace AND p.prorettype <> 'trigger'::regtype`);
}

/** Places the tables that are not yet placed, with the rows that they have; returns their names. */
export async function distributeTables(database: Database): Promise<string[]> {
  await distributeFunctions(database);
  const placed = await listPlaced(database);
  const placements = listPlacements().filter(({ table }) => !placed.has(table));
  for (const { statement } of placements) await database.execute(sql.raw(statement));
  return placements.map(({ table }) => table);
}

/**
 * Lets a role read all tables on the workers: where a view is spread over nodes, they get a query of the tables in it, which
 * the view's owner does not stand for there. On the coordinator, where clients connect, the role can read what it could before.
 */
export async function letNodesRead(database: Database, role: string): Promise<void> {
  const command = `DO $do$ BEGIN
    SET LOCAL citus.enable_ddl_propagation = off; SET LOCAL citus.override_table_visibility = off;
    GRANT USAGE ON SCHEMA recount TO ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA recount TO ${role};
  END $do$`;
  const { rows } = await database.execute<{ result: string }>(
    sql`SELECT result FROM run_command_on_workers(${command}) WHERE NOT success`,
  );
  if (rows[0] !== undefined) throw new DistributionError(`A node refuses a role that reads: ${rows[0].result}`);
}

/** The database cannot be spread over nodes. The message says what to do. */
export class DistributionError extends Error {
  override readonly name = 'DistributionError';
}

/**
 * Spreads a migrated database over the nodes of its Citus cluster; the names of the tables that were not yet. Nobody may write meanwhile.
 * @throws DistributionError where the extension is missing
 */
export async function distributeDatabase(connectionString: string): Promise<string[]> {
  const client = new pg.Client({ connectionString, application_name: 'recount migrate' });
  // A connection that breaks also rejects the query under way; the event alone would end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    const { rowCount } = await client.query(`SELECT FROM pg_extension WHERE extname = 'citus'`);
    if (rowCount === 0) {
      throw new DistributionError(
        'The database has no extension citus: create it and enter the nodes first, as docs/scaling.md describes',
      );
    }
    return await distributeTables(drizzle(client));
  } finally {
    await client.end();
  }
}
