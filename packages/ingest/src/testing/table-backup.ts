import { createHash } from 'node:crypto';
import type { DatabasePool } from '@recount/db';

type Deps = Pick<DatabasePool, 'pool'>;

/** Differ between ingestions of the same bytes. */
const ACCIDENTAL = ['created_at', 'updated_at', 'ingested_at', 'attempt_count', 'failure_reason', 'row_set_id'].concat([
  ...['entry_number', 'call_number', 'event_number', 'superseded_by', 'grown_from', 'tail_sha256'],
  ...['writer_id', 'has_events', 'last_event_id', 'checkpoints', 'applied_at'],
]);
/**
 * Not rebuilt are keys, sign-ins, audit log, and events of running streams. Checkpoints depend on the order of arrival.
 */
const NOT_COMPARED = [
  'api_keys',
  'sign_ins',
  'audit_log',
  'live_events',
  'live_chunks',
  'transcript_checkpoints',
  'search_waiting',
  // `verify` compares their texts, which any number of segments may have.
  'search_segments',
  'search_postings',
  'search_segment_row_sets',
  'stale_days',
];

async function listTables({ pool }: Deps): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'recount' ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

/** One hash of all rows of each table, independent of the time and order of their arrival. */
export async function hashTables(deps: Deps): Promise<Record<string, { rows: number; hash: string }>> {
  const hashes: Record<string, { rows: number; hash: string }> = {};
  for (const table of await listTables(deps)) {
    if (NOT_COMPARED.includes(table)) continue;
    const { rows } = await deps.pool.query<{ row: string }>(
      `SELECT (to_jsonb(t) - $1::text[])::text COLLATE "C" AS row FROM recount.${table} AS t ORDER BY 1`,
      [ACCIDENTAL],
    );
    const text = rows.map(({ row }) => row).join('\n');
    hashes[table] = { rows: rows.length, hash: createHash('sha256').update(text).digest('hex') };
  }
  return hashes;
}

/** Empties every table, like a database that was lost and migrated again. */
export async function emptyDatabase(deps: Deps): Promise<void> {
  const tables = (await listTables(deps)).map((table) => `recount.${table}`);
  // Disables the trigger that protects the audit log; Citus's own triggers empty the tables on other nodes.
  await deps.pool.query('ALTER TABLE recount.audit_log DISABLE TRIGGER USER');
  await deps.pool.query(`TRUNCATE ${tables.join(', ')}`);
  await deps.pool.query('ALTER TABLE recount.audit_log ENABLE TRIGGER USER');
}

/** Backs up every table; the returned function restores them. */
export async function backUpDatabase(deps: Deps): Promise<() => Promise<void>> {
  const tables = await listTables(deps);
  await deps.pool.query('CREATE SCHEMA backup');
  for (const table of tables) await deps.pool.query(`CREATE TABLE backup.${table} AS TABLE recount.${table}`);
  return async () => {
    await emptyDatabase(deps);
    // Workspaces first, because others refer to them.
    for (const table of tables.toSorted((a) => (a === 'workspaces' ? -1 : 1))) {
      await deps.pool.query(`INSERT INTO recount.${table} SELECT * FROM backup.${table}`);
    }
  };
}
