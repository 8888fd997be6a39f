import { isOnCitus } from '@recount/local-postgres/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { addLiveEvents, LIVE_CHANNEL, toLiveBell } from '../live/live-events.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { createDatabaseReader, type DatabaseReader, dropExpiredReaders } from './create-reader.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

async function connect({ user, password }: DatabaseReader): Promise<pg.Client> {
  const url = new URL(pool.connectionString);
  const client = new pg.Client({
    host: url.searchParams.get('host') ?? url.hostname,
    port: Number(url.port || url.searchParams.get('port') || 5432),
    database: url.pathname.slice(1),
    user,
    password,
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}

const exists = async ({ user }: DatabaseReader): Promise<boolean> =>
  (await pool.pool.query('SELECT FROM pg_roles WHERE rolname = $1', [user])).rowCount === 1;

const waitForEnd = (client: pg.Client): Promise<unknown> => new Promise((resolve) => client.once('end', resolve));

describe.skipIf(isOnCitus())('a reader', () => {
  it('is dropped with the statement that it runs', async () => {
    const reader = await createDatabaseReader(pool, { workspaceId: TEST_WORKSPACE });
    const client = await connect(reader);
    const failure = client.query('SELECT pg_sleep(600) FROM sessions RIGHT JOIN (SELECT 1) AS one ON true').then(
      () => undefined,
      (error: { code?: string }) => error.code,
    );
    await vi.waitFor(async () => {
      const running = `SELECT FROM pg_stat_activity WHERE usename = $1 AND state = 'active'`;
      expect((await pool.pool.query(running, [reader.user])).rowCount).toBe(1);
    });
    await Promise.all([reader.drop(), reader.drop()]);
    expect(await failure).toBe('57P01');
    expect(await exists(reader)).toBe(false);
    await client.end().catch(() => undefined);
  });

  it('is valid for minutes only after its process was killed, and dropped once it has expired', async () => {
    const reader = await createDatabaseReader(pool, { workspaceId: OTHER_WORKSPACE });
    const { rows } = await pool.pool.query<{ seconds: number }>(
      `SELECT extract(epoch FROM rolvaliduntil - now())::int AS seconds FROM pg_roles WHERE rolname = $1`,
      [reader.user],
    );
    expect(rows[0]?.seconds).toBeGreaterThan(30);
    expect(rows[0]?.seconds).toBeLessThanOrEqual(120);
    const client = await connect(reader);
    await client.query('SELECT FROM daily_usage');
    await expect(client.query('SELECT FROM analytics.daily_usage')).rejects.toMatchObject({ code: '42501' });
    expect((await client.query('SHOW client_connection_check_interval')).rows).toEqual([
      { client_connection_check_interval: process.platform === 'win32' ? '0' : '5s' },
    ]);

    // With this setting, the server no longer notices that a process was killed.
    await client.query('SET client_connection_check_interval = 0');
    const failure = client.query('SELECT pg_sleep(3600)').catch(({ code }) => code);
    await dropExpiredReaders(pool);
    expect(await exists(reader)).toBe(true);
    await pool.pool.query(`ALTER ROLE ${reader.user} VALID UNTIL '2026-01-01'`);
    await dropExpiredReaders(pool);
    expect(await exists(reader)).toBe(false);
    expect(await failure).toBe('57P01');
    await client.end().catch(() => undefined);
  });

  it('makes no temporary table and no large object, whatever its session sets', async () => {
    const reader = await createDatabaseReader(pool, { workspaceId: TEST_WORKSPACE });
    const client = await connect(reader);
    await client.query('SET default_transaction_read_only = off');
    const writes = [
      'CREATE TEMPORARY TABLE filled AS SELECT 1 AS one',
      'SELECT 1 AS one INTO TEMPORARY filled',
      'SELECT lo_create(0)',
      'SELECT lo_creat(-1)',
      `SELECT lo_from_bytea(0, 'x')`,
      'CREATE SCHEMA other',
      'CREATE TABLE other (one int)',
    ];
    for (const write of writes) {
      await expect(client.query(write), write).rejects.toMatchObject({
        code: expect.stringMatching(/^(42501|3F000)$/),
      });
    }
    await client.end();
    await reader.drop();
    // The owner of the tables makes some for `recount verify`.
    await pool.pool.query('CREATE TEMPORARY TABLE made_again (one int) ON COMMIT DROP');
  });

  it('is ended when its transaction takes too long, whatever its session sets', async () => {
    const reader = await createDatabaseReader(pool, { workspaceId: TEST_WORKSPACE }, 1500);
    for (const statement of ['SELECT pg_sleep(600)', 'BEGIN']) {
      const client = await connect(reader);
      const ended = waitForEnd(client);
      await client.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0');
      const result = client.query(statement).then(
        () => undefined,
        (error: { code?: string }) => error.code,
      );
      await ended;
      expect(await result).toBe(statement === 'BEGIN' ? undefined : '57P01');
    }
    await reader.drop();
  });

  it.each(['pg_advisory_lock', 'pg_advisory_xact_lock_shared'])(
    'blocks no other program with %s, and not its own end',
    async (lock) => {
      const name = `hashtextextended('recount/reader', 0)`;
      const reader = await createDatabaseReader(pool, { workspaceId: TEST_WORKSPACE });
      const holder = await connect(reader);
      const ended = waitForEnd(holder);
      // Fails if it is ended before the answer.
      await holder.query(`BEGIN; SELECT ${lock}(${name})`).catch(() => undefined);
      // Waits for the lock until the holder has lost it.
      const other = await createDatabaseReader(pool, { workspaceId: TEST_WORKSPACE });
      await ended;
      await other.drop();

      const last = await connect(reader);
      await last.query(`SELECT ${lock}(${name})`).catch(() => undefined);
      await reader.drop();
      expect(await exists(reader)).toBe(false);
      await last.end().catch(() => undefined);
    },
  );

  it('sees no column of texts if it is for figures', async () => {
    const reader = await createDatabaseReader(pool, { workspaceId: undefined, hasTexts: false });
    const client = await connect(reader);
    // A new column of words belongs here, or into TEXT_FIELDS.
    const { rows } = await client.query<{ name: string }>(
      `SELECT DISTINCT column_name::text AS name FROM information_schema.columns
       WHERE table_schema = $1 AND data_type IN ('text', 'ARRAY', 'jsonb', 'json') ORDER BY 1`,
      [reader.user],
    );
    expect(rows.map(({ name }) => name)).toEqual([
      ...'agent agent_id agent_version block_id block_type code commit_hash cost_centre disagreements event_key'.split(
        ' ',
      ),
      ...'failure_reason format git_branch inference_geo issue_counts kind kind_of_work machine mcp_server message'.split(
        ' ',
      ),
      ...'message_id message_type model models name parent_session_id parent_uuid parser_version person person_id'.split(
        ' ',
      ),
      ...'price_basis price_version primary_transcript_id project provider_message_id repository'.split(' '),
      ...'repository_url request_id response_id result_message_id role service_tier session_id severity sha256'.split(
        ' ',
      ),
      ...'source speed status stop_reason superseded_by team tool_kind tool_name tool_result_id tool_use_id'.split(' '),
      ...'transcript_id uploader_key_id uuid workspace_id worktree'.split(' '),
    ]);
    await client.query('SELECT session_id, tokens_out FROM sessions');
    await client.query('SELECT block_type, tool_name FROM content_blocks');
    for (const query of ['SELECT title FROM sessions', 'SELECT content_text FROM content_blocks']) {
      await expect(client.query(query)).rejects.toMatchObject({ code: '42703' });
    }
    for (const place of ['analytics.sessions', 'recount.sessions']) {
      await expect(client.query(`SELECT FROM ${place}`)).rejects.toMatchObject({ code: '42501' });
    }
    await client.end();
    await reader.drop();
  });

  it('sees only the given names of people and machines, and all figures', async () => {
    const { TEST_PEOPLE } = { TEST_PEOPLE: ["Ann O'Neil", 'bob'] };
    const workspace = TEST_WORKSPACE;
    for (const [index, person] of TEST_PEOPLE.entries()) {
      await pool.pool.query(
        `INSERT INTO recount.person_names (workspace_id, name_key, name, person_id) VALUES ($1, lower($2), $2, $3)`,
        [workspace, person, `p${index}`],
      );
      await pool.pool.query('INSERT INTO recount.people (workspace_id, id, display_name) VALUES ($1, $2, $3)', [
        ...[workspace, `p${index}`, person],
      ]);
    }
    const names = { person: ["Ann O'Neil", 'ann\\'], machine: [] };
    const reader = await createDatabaseReader(pool, { workspaceId: workspace, hasTexts: false, names });
    const client = await connect(reader);
    expect((await client.query('SELECT name, person FROM person_names')).rows).toEqual([
      { name: "Ann O'Neil", person: "Ann O'Neil" },
    ]);
    await client.query('SELECT person, machine, sum(cost_usd) FROM daily_usage GROUP BY 1, 2');
    await client.end();
    await reader.drop();
  });

  it('sees no names of a workspace whose policy hides them, if it is for figures', async () => {
    const { pool: database } = pool;
    const setPolicy = (people: number | null): Promise<unknown> =>
      database.query('UPDATE recount.workspaces SET names_from_people = $2 WHERE id = $1', [TEST_WORKSPACE, people]);
    for (const [workspace, person] of [
      [TEST_WORKSPACE, 'hidden'],
      [OTHER_WORKSPACE, 'open'],
    ]) {
      await database.query('INSERT INTO recount.people (workspace_id, id, display_name) VALUES ($1, $2, $2)', [
        ...[workspace, person],
      ]);
      await database.query(
        'INSERT INTO recount.person_names (workspace_id, name_key, name, person_id) VALUES ($1, $2, $2, $2)',
        [workspace, person],
      );
    }
    const readNames = async (workspaceId: string | undefined, hasTexts: boolean) => {
      const reader = await createDatabaseReader(pool, { workspaceId, hasTexts });
      const client = await connect(reader);
      const { rows } = await client.query<{ name: string }>(
        `SELECT name FROM person_names WHERE name IN ('hidden', 'open') ORDER BY 1`,
      );
      const { rows: definitions } = await client.query<{ definition: string }>(
        'SELECT definition FROM pg_views WHERE schemaname = $1 AND viewname = $2',
        [reader.user, 'daily_usage'],
      );
      await client.query('SELECT person, machine, sum(cost_usd) FROM daily_usage GROUP BY 1, 2');
      await client.end();
      await reader.drop();
      const isMasked = /CASE\s+WHEN/.test(definitions[0]?.definition ?? '');
      return { names: rows.map(({ name }) => name), isMasked, isNameless: reader.isNameless };
    };
    await setPolicy(1000);
    try {
      expect(await readNames(TEST_WORKSPACE, false)).toEqual({ names: [], isMasked: true, isNameless: true });
      const all = await readNames(undefined, false);
      expect(all).toEqual({ names: ['open'], isMasked: true, isNameless: true });
      expect((await readNames(OTHER_WORKSPACE, false)).isNameless).toBe(false);
      // Who reads texts reads names in them.
      expect((await readNames(TEST_WORKSPACE, true)).names).toEqual(['hidden']);
      await setPolicy(1);
      expect(await readNames(TEST_WORKSPACE, false)).toEqual({ names: ['hidden'], isMasked: false, isNameless: false });
    } finally {
      await setPolicy(null);
    }
  });

  it('sees only names of people in teams that are large enough, in each workspace by its policy', async () => {
    const { pool: database } = pool;
    const insert = async (workspace: string, person: string, team: string | null) => {
      const values = [workspace, person];
      await database.query('INSERT INTO recount.people (workspace_id, id, display_name) VALUES ($1, $2, $2)', values);
      await database.query(
        'INSERT INTO recount.person_names (workspace_id, name_key, name, person_id) VALUES ($1, $2, $2, $2)',
        values,
      );
      if (team === null) return;
      await database.query(
        `INSERT INTO recount.teams (workspace_id, id, name, name_key) VALUES ($1, $2, $2, $2) ON CONFLICT DO NOTHING`,
        [workspace, team],
      );
      await database.query(
        `INSERT INTO recount.team_memberships (workspace_id, person_id, team_id) VALUES ($1, $2, $3)`,
        [...values, team],
      );
    };
    for (const [person, team] of [
      ['large-1', 'large'],
      ['large-2', 'large'],
      ['small', 'small'],
      ['none', null],
    ] as const) {
      await insert(TEST_WORKSPACE, person, team);
    }
    for (const person of ['far-1', 'far-2']) await insert(OTHER_WORKSPACE, person, 'far');
    await database.query('UPDATE recount.workspaces SET names_from_people = 2');
    try {
      const reader = await createDatabaseReader(pool, { workspaceId: undefined, hasTexts: false });
      const client = await connect(reader);
      const { rows } = await client.query<{ name: string }>(
        `SELECT name FROM person_names WHERE name ~ '^(large|small|none|far)' ORDER BY 1`,
      );
      expect(rows.map(({ name }) => name)).toEqual(['far-1', 'far-2', 'large-1', 'large-2']);
      const { rows: teams } = await client.query<{ team: string | null }>(
        'SELECT DISTINCT team FROM team_memberships ORDER BY 1 NULLS LAST',
      );
      expect(teams.map(({ team }) => team)).toEqual(['far', 'large', null]);
      await client.query('SELECT person, machine, sum(cost_usd) FROM daily_usage GROUP BY 1, 2');
      await client.end();
      await reader.drop();
    } finally {
      await database.query('UPDATE recount.workspaces SET names_from_people = NULL');
    }
  });

  it('hears no id of another workspace in notifications of running sessions', async () => {
    const reader = await createDatabaseReader(pool, { workspaceId: TEST_WORKSPACE });
    const client = await connect(reader);
    const heard = new Promise<string>((resolve) => {
      client.on('notification', ({ payload }) => resolve(payload ?? ''));
    });
    await client.query(`LISTEN ${LIVE_CHANNEL}`);
    const key = { workspaceId: OTHER_WORKSPACE, sessionId: 'secret-session' };
    const event = { name: 'text', data: '{}' } as const;
    await pool.withTransaction((transaction) =>
      addLiveEvents(transaction, key, '01J0000000000000000000S001', [event], (known) => known),
    );
    const payload = await heard;
    expect(payload).toBe(toLiveBell(key));
    expect(payload).not.toMatch(new RegExp(`${OTHER_WORKSPACE}|secret`));
    await client.end();
    await reader.drop();
  });
});
