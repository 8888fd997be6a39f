import pg from 'pg';
import { DistributionError } from '../database/cluster.ts';
import type { Database } from '../database/database.ts';
import { drizzle, getTableColumns, getTableConfig, is, PgTable, sql } from '../drizzle.cjs';
import * as schema from '../schema/index.ts';

/** Looked up to find the workspace, rarely written, and referenced by others. They are replicated to every node. */
const REFERENCE_TABLES: readonly PgTable[] = [schema.workspaces, schema.apiKeys, schema.signIns];
/**
 * Stay on the coordinator because of triggers, codes that are unique over all workspaces, rows without a workspace, or
 * workers that take from all workspaces; nothing is joined with them.
 */
export const LOCAL_TABLES: readonly PgTable[] = [
  schema.auditLog,
  schema.deviceRequests,
  schema.maintenanceChecks,
  schema.ingestJobs,
];
/** All other tables are colocated with this one, by workspace. */
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

/** The table by whose shards all others are placed. */
export const SHARDED_TABLE = toName(FIRST_TABLE);

/** Statements for Citus, in order, by the table that each places. All rows of a workspace are put on one node. */
export function listPlacements(): { table: string; statement: string }[] {
  const first = SHARDED_TABLE;
  return [
    ...REFERENCE_TABLES.map(toName).map((table) => ({ table, statement: `SELECT create_reference_table('${table}')` })),
    { table: first, statement: `SELECT create_distributed_table('${first}', 'workspace_id')` },
    ...DISTRIBUTED_TABLES.map(toName).map((table) => ({
      table,
      statement: `SELECT create_distributed_table('${table}', 'workspace_id', colocate_with => '${first}')`,
    })),
  ];
}

/** True if the database's tables are distributed over the nodes of a Citus cluster. */
export async function isDistributed(database: Database): Promise<boolean> {
  const { rows } = await database.execute<{ has_catalog: boolean }>(
    sql`SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS has_catalog`,
  );
  return rows[0]?.has_catalog === true && (await listPlaced(database)).has(SHARDED_TABLE);
}

/** Tables that are replicated or distributed. Citus also lists local tables that refer to a replicated one. */
async function listPlaced(database: Database): Promise<Set<string>> {
  const { rows } = await database.execute<{ name: string }>(sql`
    SELECT n.nspname || '.' || c.relname AS name FROM pg_dist_partition AS p
    JOIN pg_class AS c ON c.oid = p.logicalrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE p.partmethod = 'h' OR p.repmodel = 't'`);
  return new Set(rows.map(({ name }) => name));
}

/** Distributes functions and aggregates that statements about distributed tables call. */
async function distributeFunctions(database: Database): Promise<void> {
  await database.execute(sql`
    SELECT create_distributed_function(p.oid::regprocedure) FROM pg_proc AS p
    WHERE p.pronamespace = 'recount'::regnamespace AND p.prorettype <> 'trigger'::regtype`);
}

/**
 * Lets Citus move shards while they are written. It must tell rows apart. Tables without a primary key have
 * sums, and two of their rows may be equal only until they are added up.
 */
async function identifyRows(database: Database): Promise<void> {
  const { rows } = await database.execute<{ name: string }>(sql`
    SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_dist_partition AS p
    JOIN pg_class AS c ON c.oid = p.logicalrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE p.partmethod = 'h' AND c.relreplident = 'd'
      AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary)`);
  for (const { name } of rows) await database.execute(sql.raw(`ALTER TABLE ${name} REPLICA IDENTITY FULL`));
}

/** Places the tables that are not yet placed, including their rows; returns their names. */
export async function distributeTables(database: Database): Promise<string[]> {
  await distributeFunctions(database);
  const placed = await listPlaced(database);
  const placements = listPlacements().filter(({ table }) => !placed.has(table));
  for (const { statement } of placements) await database.execute(sql.raw(statement));
  await identifyRows(database);
  return placements.map(({ table }) => table);
}

/**
 * Lets a role read all tables on the workers. If a view is distributed, they get a query of its tables, which the
 * rights of the view's owner do not cover there. On the coordinator, where clients connect, the role's rights are
 * unchanged.
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

/**
 * Distributes a migrated database over the nodes of its Citus cluster; returns the names of the tables that were not
 * distributed yet. No one may write during that time.
 * @throws DistributionError if the extension is missing
 */
export async function distributeDatabase(connectionString: string): Promise<string[]> {
  const client = new pg.Client({ connectionString, application_name: 'recount migrate' });
  // A connection that breaks also rejects the running query; the event alone would crash the process.
  client.on('error', () => {});
  await client.connect();
  try {
    const { rowCount } = await client.query(`SELECT FROM pg_extension WHERE extname = 'citus'`);
    if (rowCount === 0) {
      throw new DistributionError(
        'The database has no extension citus. Create it and enter the nodes first, as docs/scaling.md describes',
      );
    }
    return await distributeTables(drizzle(client));
  } finally {
    await client.end();
  }
}
