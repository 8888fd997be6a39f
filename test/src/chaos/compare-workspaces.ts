import type { DatabasePool } from '@recount/db';

export interface TableHash {
  rows: number;
  hash: string | null;
}

/** Columns that identify a workspace, a transcript, an upload or a time, and so differ between runs. */
const ACCIDENTAL = ['workspace_id', 'uploader_key_id', 'created_at', 'updated_at'];
const TABLES: Readonly<Record<string, readonly string[]>> = {
  transcripts: [
    'id',
    'object_key',
    'path',
    'superseded_by',
    'row_set_id',
    'grown_from',
    'tail_sha256',
    'attempt_count',
    'failure_reason',
    'ingested_at',
  ],
  sessions: ['primary_transcript_id'],
  transcript_messages: ['row_set_id'],
  content_blocks: ['row_set_id'],
  ingest_issues: ['row_set_id'],
  session_events: ['row_set_id'],
  // Counted over all attempts and versions of a session.
  usage_entries: ['row_set_id', 'entry_number'],
  tool_calls: ['row_set_id', 'call_number'],
  usage_ledger: ['row_set_id', 'entry_number'],
  usage_rollup: [],
  message_rollup: [],
  usage_day_rollup: [],
  tool_day_rollup: [],
  file_day_rollup: [],
  message_day_rollup: [],
  findings: ['row_set_id'],
};

/** All rows of a workspace, one hash for each table, without what depends on when and how they arrived. */
export async function hashWorkspace({ pool }: DatabasePool, workspaceId: string): Promise<Record<string, TableHash>> {
  const hashes: Record<string, TableHash> = {};
  for (const [table, accidental] of Object.entries(TABLES)) {
    const { rows } = await pool.query<TableHash>(
      `SELECT count(*)::int AS rows, md5(string_agg(row_hash, '' ORDER BY row_hash COLLATE "C")) AS hash
       FROM (SELECT md5((to_jsonb(r) - $2::text[])::text) AS row_hash
             FROM recount.${table} AS r WHERE workspace_id = $1) AS every`,
      [workspaceId, [...ACCIDENTAL, ...accidental]],
    );
    hashes[table] = rows[0] ?? { rows: 0, hash: null };
  }
  return hashes;
}

const MAX_SHOWN_ROWS = 5;

/** Some rows of a table that only the first of two workspaces has, long texts cut. */
export async function listOwnRows(
  { pool }: DatabasePool,
  table: string,
  [workspaceId, otherId]: readonly [string, string],
): Promise<string[]> {
  const select = (id: string) => `
    SELECT to_jsonb(r) - $1::text[] AS row FROM recount.${table} AS r WHERE workspace_id = ${id}`;
  const { rows } = await pool.query<{ row: Record<string, unknown> }>(
    `SELECT row FROM (${select('$2')} EXCEPT ALL ${select('$3')}) AS own LIMIT ${MAX_SHOWN_ROWS}`,
    [[...ACCIDENTAL, ...(TABLES[table] ?? [])], workspaceId, otherId],
  );
  return rows.map(({ row }) =>
    JSON.stringify(row, (_key, value) =>
      typeof value === 'string' ? value.slice(0, 60) : Array.isArray(value) ? value.length : value,
    ),
  );
}

/** Describes the tables whose rows differ from the rows of `origin`. */
export function compareHashes(
  found: Record<string, TableHash>,
  expected: Record<string, TableHash>,
  origin: string,
): string[] {
  return Object.entries(expected).flatMap(([table, { rows, hash }]) =>
    found[table]?.rows === rows && found[table].hash === hash
      ? []
      : [`${table}: ${found[table]?.rows} rows differ from the ${rows} of ${origin}`],
  );
}
