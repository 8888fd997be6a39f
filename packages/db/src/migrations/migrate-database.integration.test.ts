import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseTranscript } from '@recount/core';
import { createDatabase, dropDatabase, toDatabaseUrl, withClient } from '@recount/local-postgres';
import type {} from '@recount/local-postgres/testing';
import pg from 'pg';
import { afterAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { verifyUsage } from '../consistency/verify-usage.ts';
import { createDatabasePool } from '../database/database.ts';
import { drizzle, getTableConfig, is, migrate, PgTable } from '../drizzle.cjs';
import * as schema from '../schema/index.ts';
import { refreshTotals } from '../usage/refresh-totals.ts';
import { checkSchemaVersion, DatabaseEncodingError, migrateDatabase, SchemaVersionError } from './migrate-database.ts';

/** A database that is empty or a copy of `template`, and a pool on it. */
async function createEmptyDatabase(template?: string) {
  const { serverUrl } = inject('postgres');
  const name = toNewName();
  const connectionString = await createDatabase(serverUrl, name, template);
  const pool = createDatabasePool({ connectionString });
  onTestFinished(async () => {
    await pool.close();
    await dropDatabase(serverUrl, name);
  });
  return { connectionString, ...pool };
}

const toNewName = (): string => `test_${randomBytes(8).toString('hex')}`;

type Fill = (connectionString: string) => Promise<unknown>;

/** Names of databases that tests copy, by what has filled them. */
const templates = new Map<Fill, Promise<string>>();
afterAll(async () => {
  for (const name of templates.values()) await dropDatabase(inject('postgres').serverUrl, await name);
});

/** A copy of a database that was filled once. */
async function createFilledDatabase(fill: Fill) {
  const make = async (): Promise<string> => {
    const name = toNewName();
    await fill(await createDatabase(inject('postgres').serverUrl, name));
    return name;
  };
  const template = templates.get(fill) ?? make();
  templates.set(fill, template);
  return await createEmptyDatabase(await template);
}

const createMigratedDatabase = () => createFilledDatabase(migrateDatabase);

describe('migrateDatabase', () => {
  it('runs the baseline and the migrations after it on a new database', async () => {
    const { connectionString, pool, database } = await createEmptyDatabase();
    await migrateDatabase(connectionString);
    await checkSchemaVersion(database);
    const { rows } = await pool.query('SELECT FROM drizzle.__drizzle_migrations');
    expect(rows).toHaveLength(MIGRATION_COUNT);
  });

  it('migrates once, however many processes call it concurrently', async () => {
    const { connectionString, pool, database } = await createEmptyDatabase();
    await expect(checkSchemaVersion(database)).rejects.toThrow(/needs \d+: run `recount migrate` first/);
    await Promise.all(Array.from({ length: 10 }, () => migrateDatabase(connectionString)));
    await migrateDatabase(connectionString);
    await checkSchemaVersion(database);
    const { rows } = await pool.query('SELECT hash FROM drizzle.__drizzle_migrations');
    expect(new Set(rows.map(({ hash }) => hash)).size).toBe(rows.length);
    expect((await pool.query('SELECT * FROM analytics.daily_usage')).rows).toEqual([]);
  });

  it('leaves a database alone that a newer version has migrated', async () => {
    const { connectionString, pool, database } = await createMigratedDatabase();
    await pool.query(`INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ('of the future', 9e15)`);
    await expect(migrateDatabase(connectionString)).rejects.toThrow(SchemaVersionError);
    await expect(checkSchemaVersion(database)).rejects.toThrow(/install the newer recount/);
  });

  it('recognises a database that an older version has migrated', async () => {
    const { pool, database } = await createMigratedDatabase();
    await pool.query(
      `DELETE FROM drizzle.__drizzle_migrations WHERE id = (SELECT max(id) FROM drizzle.__drizzle_migrations)`,
    );
    await expect(checkSchemaVersion(database)).rejects.toThrow(/run `recount migrate` first/);
  });

  it.each(['LATIN1', 'SQL_ASCII'])(
    'refuses a database in %s, and says how to create one that works',
    async (encoding) => {
      const { serverUrl } = inject('postgres');
      const name = `test_${randomBytes(8).toString('hex')}`;
      await withClient(serverUrl, (client) =>
        client.query(
          `CREATE DATABASE ${name} ENCODING '${encoding}' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0`,
        ),
      );
      onTestFinished(() => dropDatabase(serverUrl, name));
      const migrating = migrateDatabase(toDatabaseUrl(serverUrl, name));
      await expect(migrating).rejects.toThrow(DatabaseEncodingError);
      await expect(migrating).rejects.toThrow(
        `The database ${name} has the encoding ${encoding}, and recount needs UTF8: create another one with CREATE DATABASE`,
      );
    },
  );

  it('rejects when the connection breaks, and the next call migrates', async () => {
    const { connectionString, pool } = await createEmptyDatabase();
    const holder = new pg.Client({ connectionString });
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query('SELECT pg_advisory_lock(7262891)');
    const migrating = migrateDatabase(connectionString);
    const expectation = expect(migrating).rejects.toMatchObject({ code: '57P01' });
    await vi.waitFor(async () => {
      const { rowCount } = await pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'recount migrate' AND wait_event = 'advisory'`,
      );
      expect(rowCount).toBe(1);
    });
    await expectation;
    await holder.query('SELECT pg_advisory_unlock_all()');
    await migrateDatabase(connectionString);
  });
});

/**
 * A database as 0.3.0 left it, with forks, diverged versions, a sub-agent, a session whose texts retention has deleted.
 */
const createDatabaseOf03 = () => createFilledDatabase(fillAs03);

const fillAs03: Fill = async (connectionString) => {
  const text = await readFile(new URL('./fixtures/database-of-0.3.sql', import.meta.url), 'utf8');
  await withClient(connectionString, (client) => client.query(text));
};

/** A database of 0.3 with the steps up to this schema version; 37 is the version of the baseline. */
async function createDatabaseAt(version: number) {
  const database = await createDatabaseOf03();
  const folder = await mkdtemp(join(tmpdir(), 'recount-migrations-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(fileURLToPath(new URL('../../../../drizzle/from-0.3', import.meta.url)), folder, { recursive: true });
  const journal = JSON.parse(await readFile(`${folder}/meta/_journal.json`, 'utf8')) as { entries: { idx: number }[] };
  const entries = journal.entries.filter(({ idx }) => idx < version);
  await writeFile(`${folder}/meta/_journal.json`, JSON.stringify({ ...journal, entries }));
  await migrate(drizzle(database.pool), { migrationsFolder: folder });
  return database;
}

const BASELINE_VERSION = 37;

const journal = await readFile(new URL('../../../../drizzle/meta/_journal.json', import.meta.url), 'utf8');
/** The baseline, and the migrations after it. */
const MIGRATION_COUNT = (JSON.parse(journal) as { entries: object[] }).entries.length;
const LATEST_VERSION = BASELINE_VERSION - 1 + MIGRATION_COUNT;

type Pool = Awaited<ReturnType<typeof createEmptyDatabase>>['pool'];

const readVersion = async (pool: Pool) =>
  (await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM drizzle.__drizzle_migrations')).rows[0]
    ?.count;

/** All that the catalogs say of the two schemas, apart from who owns them and the names of NOT NULL constraints. */
async function readCatalogs(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(`
    WITH relation AS (
      SELECT oid, oid::regclass AS name, relkind, reloptions FROM pg_class
      WHERE relnamespace IN ('recount'::regnamespace, 'analytics'::regnamespace)
    )
    SELECT concat_ws(' ', relkind, name, reloptions) AS line FROM relation
    UNION ALL SELECT concat_ws(' ', name, row_number() OVER (PARTITION BY name ORDER BY attnum), attname,
        format_type(atttypid, atttypmod), attcollation::regcollation, attnotnull, attstorage, attcompression, attstattarget,
        ARRAY(SELECT * FROM unnest(attoptions) AS option WHERE option NOT LIKE 'pg_attver=%'), pg_get_expr(adbin, adrelid))
      FROM relation JOIN pg_attribute AS a ON a.attrelid = relation.oid AND attnum > 0 AND NOT attisdropped
      LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    UNION ALL SELECT pg_get_indexdef(oid) FROM relation WHERE relkind = 'i'
    UNION ALL SELECT pg_get_viewdef(oid) FROM relation WHERE relkind = 'v'
    UNION ALL SELECT concat_ws(' ', name, conname, pg_get_constraintdef(c.oid))
      FROM relation JOIN pg_constraint AS c ON c.conrelid = relation.oid AND contype <> 'n'
    UNION ALL SELECT pg_get_triggerdef(t.oid) FROM relation JOIN pg_trigger AS t ON t.tgrelid = relation.oid AND NOT tgisinternal
    UNION ALL SELECT concat_ws(' ', p.oid::regprocedure, prosrc, provolatile, proparallel, aggtransfn, aggcombinefn, agginitval)
      FROM pg_proc AS p LEFT JOIN pg_aggregate AS a ON a.aggfnoid = p.oid
      WHERE pronamespace IN ('recount'::regnamespace, 'analytics'::regnamespace)
    UNION ALL SELECT concat_ws(' ', object.identity, description)
      FROM pg_description, pg_identify_object(classoid, objoid, objsubid) AS object
      WHERE coalesce(object.schema, object.name) IN ('recount', 'analytics')
    UNION ALL SELECT concat_ws(' ', relation.name, relacl, attacl) FROM relation JOIN pg_class AS c USING (oid)
      JOIN pg_attribute AS a ON a.attrelid = c.oid AND attnum > 0 WHERE relacl IS NOT NULL OR attacl IS NOT NULL
    UNION ALL SELECT concat_ws(' ', nspname, nspacl) FROM pg_namespace WHERE nspname IN ('recount', 'analytics')
    UNION ALL SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext`);
  return rows.map(({ line }) => line).sort();
}

describe('migrateDatabase, from 0.3 to the baseline', () => {
  it('gives a new database the schema that the steps give a database of 0.3', async () => {
    const fresh = await createMigratedDatabase();
    const upgraded = await createDatabaseOf03();
    await migrateDatabase(upgraded.connectionString);
    const catalogs = await readCatalogs(fresh.pool);
    expect(catalogs.length).toBeGreaterThan(1000);
    expect(await readCatalogs(upgraded.pool)).toEqual(catalogs);
  });

  it('is not run on a database that all steps have run on', async () => {
    const { connectionString, pool, database, withSnapshot, withTransaction } =
      await createDatabaseAt(BASELINE_VERSION);
    await migrateDatabase(connectionString);
    await checkSchemaVersion(database);
    expect(await readVersion(pool)).toBe(LATEST_VERSION);
    expect(await readCatalogs(pool)).toEqual(await readCatalogs((await createMigratedDatabase()).pool));
    const { rows } = await pool.query<{ id: string }>('SELECT id FROM recount.workspaces');
    const workspaceId = rows[0]?.id ?? '';
    await refreshTotals({ withTransaction }, workspaceId);
    const checks = await withSnapshot((snapshot) => verifyUsage(snapshot, workspaceId));
    expect(checks).toEqual(checks.map(({ table }) => expect.objectContaining({ table, missing: 0, surplus: 0 })));
  });

  it('upgrades a database that has run some of the steps', async () => {
    const { connectionString, pool, database } = await createDatabaseAt(BASELINE_VERSION - 7);
    await expect(checkSchemaVersion(database)).rejects.toThrow('version 30, this program needs');
    await migrateDatabase(connectionString);
    await checkSchemaVersion(database);
    expect(await readCatalogs(pool)).toEqual(await readCatalogs((await createMigratedDatabase()).pool));
  });

  it('upgrades a database of 0.3 once, however many processes call it concurrently', async () => {
    const { connectionString, pool, database } = await createDatabaseOf03();
    await Promise.all(Array.from({ length: 5 }, () => migrateDatabase(connectionString)));
    await checkSchemaVersion(database);
    expect(await readVersion(pool)).toBe(LATEST_VERSION);
  });

  it('leaves a database of 0.3 as it was if the connection breaks in a late step, and the next call migrates', async () => {
    const { connectionString, pool, database } = await createDatabaseOf03();
    const catalogs = await readCatalogs(pool);
    const reader = await pool.connect();
    await reader.query('BEGIN');
    // Step 35 is the first that needs this table for itself.
    await reader.query('SELECT FROM recount.session_events');
    try {
      const expectation = expect(migrateDatabase(connectionString)).rejects.toThrow('Failed query');
      await vi.waitFor(async () => {
        const { rowCount } = await pool.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'recount migrate' AND wait_event_type = 'Lock'`,
        );
        expect(rowCount).toBe(1);
      });
      await expectation;
    } finally {
      await reader.query('COMMIT');
      reader.release();
    }
    expect(await readCatalogs(pool)).toEqual(catalogs);
    await expect(checkSchemaVersion(database)).rejects.toThrow('version 11, this program needs');
    await migrateDatabase(connectionString);
    await checkSchemaVersion(database);
  });

  it('refuses a database older than 0.3, and says how to upgrade it', async () => {
    const { connectionString, pool, database } = await createDatabaseOf03();
    await pool.query('DELETE FROM drizzle.__drizzle_migrations WHERE id > 8');
    const message =
      'The database has schema version 8, this program migrates from 11 on: run `recount migrate` of recount 0.3 first';
    await expect(migrateDatabase(connectionString)).rejects.toThrow(message);
    await expect(checkSchemaVersion(database)).rejects.toThrow(message);
  });
});

it('migrates what 0.3 has ingested', async () => {
  const { connectionString, pool, withSnapshot, withTransaction } = await createDatabaseOf03();
  const total = 'SELECT sum(total_messages) AS messages, sum(cost_estimate_usd) AS cost FROM recount.sessions';
  const before = await pool.query(total);
  await migrateDatabase(connectionString);
  expect((await pool.query(total)).rows).toEqual(before.rows);
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM recount.workspaces');
  const workspaceId = rows[0]?.id ?? '';
  // All days are stale, until a worker makes their totals.
  expect(await refreshTotals({ withTransaction }, workspaceId)).toBeGreaterThan(0);
  const checks = await withSnapshot((snapshot) => verifyUsage(snapshot, workspaceId));
  expect(checks).toEqual(checks.map(({ table }) => expect.objectContaining({ table, missing: 0, surplus: 0 })));
  // These transcripts have no findings.
  expect(checks.filter((check) => check.rows === 0).map(({ table }) => table)).toEqual(['findings']);
});

it('turns costs that 0.3 and earlier showed as 0 for lack of a price into null, and leaves users’ own views alone', async () => {
  const { connectionString, pool, withSnapshot } = await createDatabaseOf03();
  const costs = '_input _output _cache_read _cache_write _web_search'.split(' ');
  const setCosts = (suffix: string, value: string) =>
    ['', ...costs].map((part) => `cost${part}_${suffix} = ${value}`).join(', ');
  for (const table of ['usage_entries', 'usage_ledger']) {
    await pool.query(`UPDATE recount.${table} SET ${setCosts('usd', 'NULL')}, price_basis = 'unpriced'`);
  }
  for (const table of ['usage_rollup', 'usage_day_rollup']) {
    await pool.query(`UPDATE recount.${table} SET ${setCosts('units', '0')}, unpriced_responses = responses,
      unpriced_tokens = tokens_in + tokens_out + cache_read + cache_write, default_priced_responses = 0`);
  }
  for (const table of ['transcripts', 'sessions']) {
    await pool.query(`UPDATE recount.${table} SET cost_estimate_usd = 0, unpriced_count = api_response_count`);
  }
  await pool.query(`CREATE SCHEMA team; CREATE VIEW team.usage AS SELECT * FROM analytics.session_usage;
    CREATE MATERIALIZED VIEW team.days AS SELECT * FROM analytics.daily_usage;
    CREATE VIEW team.sessions AS SELECT * FROM analytics.sessions`);
  await migrateDatabase(connectionString);
  const { rows } = await pool.query(`SELECT api_response_count > 0 AS has_responses, cost_estimate_usd::float8 AS cost,
    unpriced_count = api_response_count AS is_unpriced FROM team.sessions GROUP BY 1, 2, 3 ORDER BY 1`);
  expect(rows).toEqual([
    { has_responses: false, cost: 0, is_unpriced: true },
    { has_responses: true, cost: null, is_unpriced: true },
  ]);
  const usage = await pool.query('SELECT DISTINCT cost_usd FROM team.usage');
  expect(usage.rows).toEqual([{ cost_usd: null }]);
  const workspace = await pool.query<{ id: string }>('SELECT id FROM recount.workspaces');
  const checks = await withSnapshot((snapshot) => verifyUsage(snapshot, workspace.rows[0]?.id ?? ''));
  expect(checks).toEqual(checks.map(({ table }) => expect.objectContaining({ table, missing: 0, surplus: 0 })));
});

/** Every kind of tool that 0.3 and earlier could have stored, with and without what the name alone does not tell. */
const TOOL_NAMES = [
  ...['Read', 'NotebookRead', 'Write', 'Edit', 'MultiEdit', 'NotebookEdit', 'Bash', 'bash', 'BashOutput', 'KillBash'],
  ...['KillShell', 'Glob', 'Grep', 'LS', 'LSP', 'ToolSearch', 'WebFetch', 'WebSearch', 'web_search', 'web_fetch'],
  ...['Task', 'Agent', 'Skill', 'TodoWrite', 'TaskCreate', 'TaskUpdate', 'TaskList', 'TaskGet', 'EnterPlanMode'],
  ...['ExitPlanMode', 'exit_plan_mode', 'AskUserQuestion', 'ListMcpResourcesTool', 'ReadMcpResourceTool'],
  ...['mcp__git__log', 'mcp__git', 'mcp____log', 'mcpXgit__log', 'read', 'constructor', ''],
];

it('sets the tool kinds of 0.3 and earlier as the parser does', async () => {
  const { connectionString, pool } = await createDatabaseOf03();
  const uses = TOOL_NAMES.map((name, index) => ({
    type: 'tool_use',
    id: `toolu_${String(index).padStart(18, '0')}`,
    name,
    input: {},
  }));
  const served = { type: 'mcp_tool_use', id: 'mcptoolu_of_the_api_00000', name: 'query', server_name: 'db', input: {} };
  const message = { id: 'msg_of_all_the_tools_000', role: 'assistant', content: [...uses, served] };
  const line = JSON.stringify({ type: 'assistant', sessionId: 's', uuid: 'u', message });
  const { contentBlocks, toolCalls } = await parseTranscript('s', line);
  expect(toolCalls).toHaveLength(TOOL_NAMES.length + 1);
  const key = { workspace_id: '01J00000000000000000000001', row_set_id: 't' };
  const rows = {
    content_blocks: contentBlocks.map((block) => ({ ...key, ...block })),
    tool_calls: toolCalls.map((call, call_number) => ({ ...key, call_number, is_own: true, ...call })),
  };
  for (const [table, values] of Object.entries(rows)) {
    await pool.query(
      `INSERT INTO recount.${table} SELECT * FROM jsonb_populate_recordset(NULL::recount.${table}, $1::jsonb)`,
      [JSON.stringify(values)],
    );
  }
  await migrateDatabase(connectionString);
  const read = async (table: string, order: string) => {
    const result = await pool.query(
      `SELECT tool_name, tool_kind FROM recount.${table} WHERE session_id = 's' ORDER BY ${order}`,
    );
    return result.rows;
  };
  const toExpected = (rows: readonly { tool_name: string | null; tool_kind: string | null }[]) =>
    rows.map(({ tool_name, tool_kind }) => ({ tool_name, tool_kind }));
  expect(await read('content_blocks', 'block_order')).toEqual(toExpected(contentBlocks));
  expect(await read('tool_calls', 'call_number')).toEqual(toExpected(toolCalls));
});

it('recognises the streams of 0.3 and earlier, and counts files and sub-agents as before', async () => {
  const { connectionString, pool, withSnapshot } = await createDatabaseOf03();
  const counts = `SELECT count(*) FILTER (WHERE tool_name = 'Read')::int AS reads,
    count(*) FILTER (WHERE tool_name IN ('Task', 'Agent'))::int AS subagents FROM recount.tool_calls`;
  const before = (await pool.query(counts)).rows;
  expect(before).toEqual([{ reads: expect.any(Number), subagents: 3 }]);
  await pool.query(`UPDATE recount.transcripts SET format = 'claude-stream-json' WHERE session_id = 'two'`);
  await migrateDatabase(connectionString);
  const after = await pool.query(`SELECT count(*) FILTER (WHERE tool_kind = 'read')::int AS reads,
    count(*) FILTER (WHERE tool_kind = 'agent')::int AS subagents FROM recount.tool_calls`);
  expect(after.rows).toEqual(before);
  const streams = await pool.query('SELECT DISTINCT session_id FROM recount.transcripts WHERE is_stream');
  expect(streams.rows).toEqual([{ session_id: 'two' }]);
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM recount.workspaces');
  const checks = await withSnapshot((snapshot) => verifyUsage(snapshot, rows[0]?.id ?? ''));
  expect(checks).toEqual(checks.map(({ table }) => expect.objectContaining({ table, missing: 0, surplus: 0 })));
});

describe('the queue of earlier versions', () => {
  /** The parts of pg-boss's schema, as earlier versions had it, that the migration reads. */
  const createQueues = (pool: Pool, names: readonly string[]) =>
    pool.query(`
      CREATE SCHEMA pgboss; CREATE TABLE pgboss.queue (name text PRIMARY KEY);
      CREATE FUNCTION pgboss.delete_queue(queue_name text) RETURNS void LANGUAGE sql AS
        $$ DELETE FROM pgboss.queue WHERE name = queue_name $$;
      INSERT INTO pgboss.queue SELECT unnest('{${names.join(',')}}'::text[])`);
  const OWN = ['ingest-transcript', 'ingest-transcript-small', 'ingest-transcript-dead', '__pgboss__send-it'];

  it('is dropped, and every transcript that waits has a job and all its attempts', async () => {
    const { connectionString, pool } = await createDatabaseAt(BASELINE_VERSION);
    await createQueues(pool, OWN);
    await pool.query(`
      UPDATE recount.transcripts SET status = 'ingested', ingested_at = now();
      UPDATE recount.transcripts SET status = 'processing', attempt_count = 4, ingested_at = NULL
      WHERE id = (SELECT min(id) FROM recount.transcripts);
      UPDATE recount.transcripts SET status = 'queued', attempt_count = 0, ingested_at = NULL, is_stream = false
      WHERE id = (SELECT max(id) FROM recount.transcripts)`);
    await migrateDatabase(connectionString);
    const { rows } = await pool.query(`
      SELECT j.is_alone, j.taken_at, j.created_at = t.created_at AS is_as_old, t.status, t.attempt_count
      FROM recount.ingest_jobs AS j
      JOIN recount.transcripts AS t ON t.workspace_id = j.workspace_id AND t.id = j.transcript_id ORDER BY t.id`);
    expect(rows).toEqual([
      { is_alone: true, taken_at: null, is_as_old: true, status: 'processing', attempt_count: 0 },
      { is_alone: false, taken_at: null, is_as_old: true, status: 'queued', attempt_count: 0 },
    ]);
    const { rowCount } = await pool.query(`SELECT FROM pg_namespace WHERE nspname = 'pgboss'`);
    expect(rowCount).toBe(0);
  });

  it('leaves the queues of other programs in the same schema', async () => {
    const { connectionString, pool } = await createDatabaseAt(BASELINE_VERSION);
    await createQueues(pool, [...OWN, 'mails']);
    await migrateDatabase(connectionString);
    const { rows } = await pool.query('SELECT name FROM pgboss.queue ORDER BY name');
    expect(rows.map(({ name }) => name)).toEqual(['__pgboss__send-it', 'mails']);
  });
});

describe('the migrated schema', () => {
  it('equals the schema in the code', async () => {
    const { pool } = await createMigratedDatabase();
    const { rows } = await pool.query(
      `SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
              || CASE WHEN l.collname = 'C' THEN ' COLLATE "C"' ELSE '' END
              || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END AS column
       FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_collation l ON l.oid = a.attcollation
       WHERE c.relnamespace = 'recount'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped`,
    );
    const tables = Object.values(schema).filter((value) => is(value, PgTable));
    const expected = tables.flatMap((table) => {
      const { name, columns } = getTableConfig(table);
      return columns.map((column) => {
        const type = column
          .getSQLType()
          .replace(/^numeric\((\d+), 10\)/, 'numeric($1,10)')
          .replace('timestamp (3)', 'timestamp(3)');
        return `${name}.${column.name} ${type}${column.notNull || column.primary ? ' NOT NULL' : ''}`;
      });
    });
    expect(rows.map(({ column }) => column).sort()).toEqual(expected.sort());
  });

  it('has a comment on every schema, table, view and column', async () => {
    const { pool } = await createMigratedDatabase();
    const { rows } = await pool.query(
      `SELECT n.nspname || coalesce('.' || c.relname, '') || coalesce('.' || a.attname, '') AS name,
              CASE WHEN c.oid IS NULL THEN obj_description(n.oid, 'pg_namespace')
                   WHEN a.attnum IS NULL THEN obj_description(c.oid, 'pg_class')
                   ELSE col_description(c.oid, a.attnum) END AS description
       FROM pg_namespace n
       LEFT JOIN (SELECT oid, relnamespace, relname FROM pg_class WHERE relkind IN ('r', 'v')
                  UNION ALL SELECT NULL, oid, NULL FROM pg_namespace) c ON c.relnamespace = n.oid
       LEFT JOIN (SELECT attrelid, attnum, attname FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped
                  UNION ALL SELECT oid, NULL, NULL FROM pg_class) a ON a.attrelid = c.oid
       WHERE n.nspname IN ('recount', 'analytics')`,
    );
    expect(rows.length).toBeGreaterThan(300);
    expect(rows.filter(({ description }) => !description).map(({ name }) => name)).toEqual([]);
  });
});

it('counts a session for the machine that an upload names while totals by machine are added', async () => {
  const { connectionString, pool, withSnapshot, withTransaction } = await createDatabaseAt(33);
  await pool.query(`
    INSERT INTO recount.workspaces (id, name) VALUES ('team', 'team');
    INSERT INTO recount.sessions (workspace_id, session_id, agent, primary_transcript_id) VALUES ('team', 'one', 'codex', 'id');
    INSERT INTO recount.message_day_rollup (workspace_id, session_id, first_bucket_start, last_bucket_start, is_subagent, messages, user_messages)
    VALUES ('team', 'one', '2026-01-05T10:00Z', '2026-01-05T10:00Z', false, 3, 1)`);
  const upload = await pool.connect();
  await upload.query('BEGIN');
  await upload.query(`UPDATE recount.sessions SET machine = 'desk' WHERE workspace_id = 'team'`);
  const migrating = migrateDatabase(connectionString);
  const isWaiting = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'recount migrate' AND wait_event_type = 'Lock'`;
  try {
    await vi.waitFor(async () => expect((await pool.query(isWaiting)).rowCount).toBe(1));
  } finally {
    await upload.query('COMMIT');
    upload.release();
  }
  await migrating;
  await refreshTotals({ withTransaction }, 'team');
  const { rows } = await pool.query('SELECT machine, messages FROM recount.message_attribution_total');
  expect(rows).toEqual([{ machine: 'desk', messages: 3 }]);
  const checks = await withSnapshot((snapshot) => verifyUsage(snapshot, 'team'));
  expect(checks.filter(({ table }) => table === 'message_attribution_total')).toEqual([
    { table: 'message_attribution_total', rows: 1, missing: 0, surplus: 0 },
  ]);
});
