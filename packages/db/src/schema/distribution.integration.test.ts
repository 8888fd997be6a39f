import { isOnCitus } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createDatabasePool, type Database } from '../database/database.ts';
import { readDiskUse } from '../database/disk-use.ts';
import { preferScans } from '../database/planner.ts';
import { getTableName, sql } from '../drizzle.cjs';
import { LOCAL_TABLES, listPlacements } from '../migrations/distribute-tables.ts';
import { checkSchemaVersion, migrateDatabase } from '../migrations/migrate-database.ts';
import { createTestPool } from '../testing/create-test-pool.ts';
import { sessions } from './transcripts.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

/** Fake Citus functions. They record their calls, and reject keys that Citus would reject. */
const STAND_INS = `
  SET LOCAL search_path = public;
  CREATE TABLE placed (name text PRIMARY KEY, distribution_column text);
  CREATE FUNCTION create_reference_table(target regclass) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO placed VALUES (target::text) $$;
  CREATE FUNCTION create_distributed_table(target regclass, distribution_column text, colocate_with text DEFAULT NULL)
  RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    faulty text;
  BEGIN
    SELECT string_agg(i.indexrelid::regclass::text, ', ') INTO faulty FROM pg_index AS i
    WHERE i.indrelid = target AND i.indisunique AND NOT EXISTS (
      SELECT FROM pg_attribute AS a
      WHERE a.attrelid = target AND a.attname = distribution_column AND a.attnum = ANY(i.indkey));
    IF faulty IS NOT NULL THEN RAISE 'Unique without %: %', distribution_column, faulty; END IF;
    SELECT string_agg(c.conname, ', ') INTO faulty FROM pg_constraint AS c
    WHERE c.conrelid = target AND c.contype = 'f'
      AND NOT EXISTS (SELECT FROM placed WHERE name = c.confrelid::regclass::text AND placed.distribution_column IS NULL);
    IF faulty IS NOT NULL THEN RAISE 'Refers to a table that is no reference table: %', faulty; END IF;
    INSERT INTO placed VALUES (target::text, distribution_column);
  END $$;`;

it.skipIf(isOnCitus())('can be distributed, with every table placed once', async () => {
  await pool.withTransaction(async (_, client) => {
    await client.query(`SAVEPOINT before; ${STAND_INS}`);
    for (const { statement } of listPlacements()) await client.query(statement);
    const { rows } = await client.query(
      `SELECT schemaname || '.' || tablename AS missing FROM pg_tables
       WHERE schemaname = 'recount' AND tablename <> ALL($1)
       EXCEPT SELECT name FROM placed`,
      [LOCAL_TABLES.map((table) => getTableName(table))],
    );
    expect(rows).toEqual([]);
    await client.query('ROLLBACK TO before');
  });
});

it('contains nothing that Citus cannot distribute', async () => {
  const { rows } = await pool.pool.query(
    `SELECT tgrelid::regclass::text AS found FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
     WHERE c.relnamespace = 'recount'::regnamespace AND NOT t.tgisinternal AND c.relname <> 'audit_log'
     UNION ALL SELECT attrelid::regclass || '.' || attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
     WHERE c.relnamespace = 'recount'::regnamespace AND c.relkind = 'r' AND (a.attgenerated <> '' OR a.attidentity <> '')
     UNION ALL SELECT relname FROM pg_class WHERE relnamespace = 'recount'::regnamespace AND relkind IN ('S', 'm', 'p')`,
  );
  expect(rows).toEqual([]);
});

it.runIf(isOnCitus())('lets nodes plan what may write without the parameters, and nothing else', async () => {
  const readMode = async (database: Database): Promise<unknown> => {
    const { rows } = await database.execute(sql`
      SELECT current_setting('plan_cache_mode') AS mode, count(*) FROM ${sessions} WHERE workspace_id = ${'none'}`);
    return rows[0]?.mode;
  };
  expect(await pool.withTransaction(readMode)).toBe('force_generic_plan');
  expect(await pool.withTransaction((transaction) => readOwnMode(transaction))).toBe('auto');
  expect(await pool.withSnapshot(readMode)).toBe('auto');
  expect(await readMode(pool.database)).toBe('auto');
});

it.runIf(isOnCitus())('lets no node compile statements that read whole tables', async () => {
  const readJit = async (database: Database): Promise<unknown> => {
    const { rows } = await database.execute(sql`
      SELECT current_setting('jit') AS jit, count(*) FROM ${sessions} WHERE workspace_id = ${'none'}`);
    return rows[0]?.jit;
  };
  expect(await pool.withSnapshot((snapshot) => preferScans(snapshot, () => readJit(snapshot)))).toBe('off');
});

it.runIf(isOnCitus())('distributes the tables that a migration adds to a distributed database', async () => {
  const readType = async (): Promise<unknown> => {
    const { rows } = await pool.pool.query(
      `SELECT citus_table_type FROM citus_tables WHERE table_name = 'recount.attachments'::regclass`,
    );
    return rows[0]?.citus_table_type;
  };
  // As a migration creates it, which refers to a replicated table, so Citus lists it too.
  const foreignKey = 'attachments_workspace_id_workspaces_id_fk';
  await pool.pool.query(`ALTER TABLE recount.attachments DROP CONSTRAINT ${foreignKey}`);
  await pool.pool.query(`SELECT undistribute_table('recount.attachments')`);
  await pool.pool.query(
    `ALTER TABLE recount.attachments ADD CONSTRAINT ${foreignKey} FOREIGN KEY (workspace_id) REFERENCES recount.workspaces (id)`,
  );
  expect(await readType()).toBe('local');
  // The command names them, also when `recount migrate --distribute` was interrupted before.
  expect(await migrateDatabase(pool.pool.options.connectionString ?? '')).toEqual(['recount.attachments']);
  expect(await readType()).toBe('distributed');
});

async function readOwnMode(database: Database): Promise<unknown> {
  return (await database.execute(sql`SELECT current_setting('plan_cache_mode') AS mode`)).rows[0]?.mode;
}

describe.runIf(isOnCitus())('on a cluster', () => {
  it('lets every shard move while it is written', async () => {
    const { rows } = await pool.pool.query(`
      SELECT c.relname FROM pg_dist_partition AS p JOIN pg_class AS c ON c.oid = p.logicalrelid
      WHERE p.partmethod = 'h' AND c.relreplident = 'd'
        AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary)`);
    expect(rows).toEqual([]);
  });

  it('is as large as all of its nodes', async () => {
    const { rows } = await pool.pool.query<{ bytes: number }>(
      'SELECT pg_database_size(current_database())::float8 AS bytes',
    );
    const { databaseBytes, searchBytes } = await readDiskUse(pool.database);
    expect(databaseBytes).toBeGreaterThan(2 * (rows[0]?.bytes ?? 0));
    expect(searchBytes).toBeGreaterThan(0);
  });

  it('refuses to work on a node other than the coordinator', async () => {
    const { rows } = await pool.pool.query<{ port: number }>(
      'SELECT nodeport AS port FROM pg_dist_node WHERE groupid > 0',
    );
    const url = new URL(inject('postgres').serverUrl);
    const { rows: names } = await pool.pool.query<{ name: string }>('SELECT current_database() AS name');
    [url.port, url.pathname] = [String(rows[0]?.port), `/${names[0]?.name}`];
    const node = createDatabasePool({ connectionString: url.href });
    try {
      const sentence = /node of a Citus cluster\. Connect to its coordinator/;
      await expect(checkSchemaVersion(node.database)).rejects.toThrow(sentence);
      await expect(migrateDatabase(url.href)).rejects.toThrow(sentence);
    } finally {
      await node.close();
    }
  });
});
