import { readFile } from 'node:fs/promises';
import { type DatabasePool, indexSearchBatch, refreshTotals } from '@recount/db';

export const FLEET_WORKSPACE = '01J0000000000000000000FLEE';

/** Number of sessions in a fleet, and of rows in each. */
export interface FleetSize {
  sessions: number;
  responses: number;
  calls: number;
  events: number;
  /** Messages, each with a block. */
  texts: number;
}

const FIGURE_TABLES = [
  ...['sessions', 'transcripts'],
  ...['usage_ledger', 'usage_entries', 'tool_calls', 'session_events', 'findings'],
  ...['usage_rollup', 'usage_day_rollup', 'message_rollup', 'message_day_rollup', 'tool_day_rollup', 'file_day_rollup'],
];
const TEXT_TABLES = ['transcript_messages', 'content_blocks', 'search_waiting'];

/** Fills the tables that reports read, as ingesting that many sessions would. */
export async function seedFleet(database: DatabasePool, size: FleetSize): Promise<void> {
  await database.pool.query('INSERT INTO recount.workspaces (id, name) VALUES ($1, $1)', [FLEET_WORKSPACE]);
  await seed(
    database,
    './seed-fleet.sql',
    FIGURE_TABLES,
    { areEmpty: true },
    {
      SESSIONS: size.sessions,
      RESPONSES: size.responses,
      CALLS: size.calls,
      EVENTS: size.events,
    },
  );
  await refreshTotals(database, FLEET_WORKSPACE);
  await database.pool.query(
    `VACUUM ANALYZE recount.usage_hour_total, recount.message_hour_total, recount.tool_day_total,
     recount.usage_attribution_total, recount.message_attribution_total, recount.session_total, recount.stale_days`,
  );
}

/** Fills the tables of texts with copies of the texts of one ingested session, and makes the segments of search. */
export async function seedTexts(
  database: DatabasePool,
  { texts }: FleetSize,
  templateSessionId: string,
): Promise<void> {
  await seed(
    database,
    './seed-texts.sql',
    TEXT_TABLES,
    { areEmpty: false },
    { TEXTS: texts, TEMPLATE: templateSessionId },
  );
  while ((await indexSearchBatch(database)) !== undefined);
}

/**
 * Runs the statements of a file while the tables have no indexes. Creating them afterwards takes a fraction of the
 * time.
 */
async function seed(
  { pool }: DatabasePool,
  file: string,
  tables: readonly string[],
  { areEmpty }: { areEmpty: boolean },
  values: Readonly<Record<string, string | number>>,
): Promise<void> {
  const sql = await readFile(new URL(file, import.meta.url), 'utf8');
  const all = Object.entries({ ...values, WORKSPACE: FLEET_WORKSPACE });
  const statements = all.reduce((text, [name, value]) => text.replaceAll(`$${name}`, String(value)), sql);
  const client = await pool.connect();
  try {
    await client.query("SET maintenance_work_mem = '1GB'; SET work_mem = '256MB'; SET jit = off");
    const { rows: constraints } = await client.query<{ table: string; name: string; definition: string }>(
      `SELECT c.conrelid::regclass::text AS table, c.conname AS name, pg_get_constraintdef(c.oid) AS definition
       FROM pg_constraint AS c JOIN pg_class AS t ON t.oid = c.conrelid
       WHERE t.relnamespace = 'recount'::regnamespace AND t.relname = ANY($1) AND c.contype IN ('p', 'u')`,
      [tables],
    );
    for (const { table, name } of constraints) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
    const { rows: indexes } = await client.query<{ name: string; definition: string }>(
      `SELECT 'recount.' || indexname AS name, indexdef AS definition FROM pg_indexes
       WHERE schemaname = 'recount' AND tablename = ANY($1)`,
      [tables],
    );
    for (const { name } of indexes) await client.query(`DROP INDEX ${name}`);
    // Tables that are emptied in the same transaction need no WAL for what fills them, if `wal_level` is `minimal`.
    await client.query('BEGIN');
    if (areEmpty) await client.query(`TRUNCATE ${tables.map((table) => `recount.${table}`).join()}`);
    await client.query(`${statements}; COMMIT`);
    for (const { table, name, definition } of constraints) {
      await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
    }
    for (const { definition } of indexes) await client.query(definition);
    await client.query('VACUUM ANALYZE');
    await client.query('RESET ALL');
  } finally {
    client.release();
  }
}
