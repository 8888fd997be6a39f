import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';

/** Functions that make a large object. */
const LARGE_OBJECTS = 'lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea)';

/**
 * Lets only the owner of the tables make temporary tables and large objects, which need no table, and which no default of a
 * role forbids. Rights are of all roles or of one, so this takes them from PUBLIC. Only the owner of the
 * database may do the former, and only a superuser the latter; anyone else leaves the rights as they are.
 */
export async function forbidWrites(transaction: Database): Promise<void> {
  const { rows } = await transaction.execute<{
    name: string;
    owner: string;
    is_database_owner: boolean;
    is_superuser: boolean;
    may_make_tables: boolean;
    may_make_objects: boolean;
  }>(sql`SELECT quote_ident(datname) AS name, nspowner::regrole::text AS owner,
      pg_has_role(datdba, 'USAGE') AS is_database_owner,
      (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_superuser,
      has_database_privilege('public', datname, 'TEMPORARY') AS may_make_tables,
      has_function_privilege('public', 'pg_catalog.lo_create(oid)', 'EXECUTE') AS may_make_objects
    FROM pg_database, pg_namespace WHERE datname = current_database() AND nspname = 'recount'`);
  const [here] = rows;
  if (here === undefined) return;
  const run = (statement: string) => transaction.execute(sql.raw(statement));
  if (here.may_make_tables && here.is_database_owner) {
    await run(`GRANT TEMPORARY ON DATABASE ${here.name} TO ${here.owner}`);
    await run(`REVOKE TEMPORARY ON DATABASE ${here.name} FROM PUBLIC`);
  }
  if (here.may_make_objects && here.is_superuser) {
    await run(`REVOKE EXECUTE ON FUNCTION ${LARGE_OBJECTS} FROM PUBLIC`);
  }
}

/**
 * Ends sessions of a reader whose transaction has taken longer than the limit, or that hold or await an advisory lock,
 * which others could then wait for. From outside, because a session may change its own limits.
 */
export async function endTrespassers(database: Database, user: string, limitMs: number): Promise<void> {
  await database.execute(sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity AS a
    WHERE usename = ${user} AND datname = current_database()
      AND (clock_timestamp() - xact_start > ${limitMs} * interval '1 millisecond'
        OR EXISTS (SELECT FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype = 'advisory'))`);
}
