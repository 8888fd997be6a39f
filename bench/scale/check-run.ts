import { type DatabasePool, verifyUsage } from '@recount/db';
import type { ReceivedFleet } from './receive-fleet.ts';

export interface RunCheck {
  /** Everything that was lost, counted twice or left over; empty if all is well. */
  faults: string[];
  /** Rows and a hash of each table, for comparison with other runs. */
  tables: Record<string, string>;
}

/**
 * Each table with the columns where two runs may differ (times, and which of several longer versions superseded a
 * transcript).
 */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  transcripts: ['ingested_at', 'superseded_by'],
  sessions: ['created_at', 'updated_at'],
  transcript_messages: [],
  content_blocks: [],
  ingest_issues: [],
  session_events: [],
  usage_entries: [],
  tool_calls: [],
  usage_ledger: [],
  usage_rollup: [],
  message_rollup: [],
  usage_day_rollup: [],
  tool_day_rollup: [],
  file_day_rollup: [],
  message_day_rollup: [],
  findings: [],
};

/** Queries for what must not exist, each returning a count. */
const FAULTS: Readonly<Record<string, string>> = {
  'transcripts neither ingested nor superseded': `
    SELECT count(*) FROM recount.transcripts WHERE status NOT IN ('ingested', 'superseded')`,
  'transcripts attempted more than once': 'SELECT count(*) FROM recount.transcripts WHERE attempt_count <> 1',
  'transcripts with fewer or more messages than were parsed': `
    SELECT count(*) FROM recount.transcripts AS t WHERE t.row_set_id IS NOT NULL AND t.total_messages <> (
      SELECT count(*) FROM recount.transcript_messages AS m
      WHERE m.workspace_id = t.workspace_id AND m.row_set_id = t.row_set_id)`,
  'transcripts with fewer or more content blocks than were parsed': `
    SELECT count(*) FROM recount.transcripts AS t WHERE t.row_set_id IS NOT NULL AND t.content_block_count <> (
      SELECT count(*) FROM recount.content_blocks AS b
      WHERE b.workspace_id = t.workspace_id AND b.row_set_id = t.row_set_id)`,
  'sessions with transcripts and no row': `
    SELECT count(*) FROM (
      SELECT workspace_id, session_id FROM recount.transcripts EXCEPT
      SELECT workspace_id, session_id FROM recount.sessions) AS missing`,
  'jobs not done': 'SELECT count(*) FROM recount.ingest_jobs',
};

/** True if each transcript of the fleet exists once, with everything counted from it. */
export async function checkRun(database: DatabasePool, fleet: ReceivedFleet): Promise<RunCheck> {
  const faults: string[] = [];
  const { pool } = database;
  const count = async (query: string): Promise<number> => {
    const { rows } = await pool.query<{ count: string }>(query);
    return Number(rows[0]?.count);
  };
  const transcripts = await count('SELECT count(*) FROM recount.transcripts');
  if (transcripts !== fleet.transcripts) faults.push(`${transcripts} of ${fleet.transcripts} transcripts`);
  for (const [fault, query] of Object.entries(FAULTS)) {
    const found = await count(query);
    if (found !== 0) faults.push(`${found} ${fault}`);
  }
  for (const workspaceId of fleet.workspaceIds) {
    faults.push(...(await verifyWorkspace(database, workspaceId)).faults);
  }
  return { faults, tables: await hashTables(database) };
}

/** Counts everything again, as `recount verify` does. */
export async function verifyWorkspace(
  database: DatabasePool,
  workspaceId: string,
): Promise<{ faults: string[]; tableCount: number }> {
  const tables = await database.withSnapshot((snapshot) => verifyUsage(snapshot, workspaceId));
  const unequal = tables.filter(({ missing, surplus }) => missing + surplus > 0);
  const faults = unequal.map(
    ({ table, missing, surplus }) => `${table} of ${workspaceId}: ${missing} missing, ${surplus} surplus`,
  );
  return { faults, tableCount: tables.length };
}

async function hashTables({ pool }: DatabasePool): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const [table, accidental] of Object.entries(TABLES)) {
    const { rows } = await pool.query<{ hash: string }>(
      `SELECT count(*) || ' rows, ' || coalesce(sum(hashtextextended((to_jsonb(r) - $1::text[])::text, 0)::numeric), 0) AS hash
       FROM recount.${table} AS r`,
      [[...accidental]],
    );
    hashes[table] = rows[0]?.hash ?? '';
  }
  return hashes;
}

/** Names of the tables that differ between two runs. */
export function findDifferences(a: RunCheck, b: RunCheck): string[] {
  return Object.keys(TABLES).filter((table) => a.tables[table] !== b.tables[table]);
}
