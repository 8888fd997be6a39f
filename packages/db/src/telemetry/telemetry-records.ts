import { createHash } from 'node:crypto';
import type { TelemetryRecord } from '@recount/core';
import type { Database } from '../database/database.ts';
import { and, eq, sql } from '../drizzle.cjs';
import { toJsonText } from '../schema/column-types.ts';
import { telemetryRecords } from '../schema/telemetry.ts';

/** Rows of one statement. */
const CHUNK_ROWS = 5000;

const toKey = ({ kind, identity }: TelemetryRecord): string =>
  createHash('sha256').update(`${kind} ${identity}`).digest('base64url').slice(0, 24);

const toRow = (record: TelemetryRecord) => ({
  agent: record.agent,
  record_key: toKey(record),
  kind: record.kind,
  session_id: record.sessionId,
  request_id: record.requestId,
  model: record.model,
  purpose: record.purpose,
  timestamp: new Date(record.timestampMs).toISOString(),
  tokens_in: record.inputTokens,
  tokens_out: record.outputTokens,
  cache_read: record.cacheReadTokens,
  cache_write: record.cacheWriteTokens,
  reported_cost_usd: record.costUsd,
  person: record.person,
  machine: record.machine,
});
type Row = ReturnType<typeof toRow>;

const COLUMNS = `agent text, record_key text, kind text, session_id text, request_id text, model text, purpose text, "timestamp" timestamptz,
  tokens_in bigint, tokens_out bigint, cache_read bigint, cache_write bigint, reported_cost_usd numeric, person text,
  machine text`;
const NAMES = `agent, record_key, kind, session_id, request_id, model, purpose, "timestamp", tokens_in, tokens_out, cache_read,
  cache_write, reported_cost_usd, person, machine`;

/** A point of a sum that is received late must not make it smaller. */
const LARGER = ['"timestamp"', 'tokens_in', 'tokens_out', 'cache_read', 'cache_write', 'reported_cost_usd']
  .map((name) => `${name} = greatest(t.${name}, excluded.${name})`)
  .join(', ');

/** Stores records, each once; of a sum that grew, the larger figures. */
export async function storeTelemetry(
  database: Database,
  workspaceId: string,
  records: readonly TelemetryRecord[],
): Promise<void> {
  // A statement cannot change a row twice. In one order, so that exports that are repeated concurrently wait for each other.
  const rows = new Map<string, Row>();
  for (const record of records) {
    const row = toRow(record);
    const id = `${row.agent} ${row.record_key}`;
    const known = rows.get(id);
    if (known === undefined || known.timestamp <= row.timestamp) rows.set(id, row);
  }
  const ordered = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  for (let start = 0; start < ordered.length; start += CHUNK_ROWS) {
    const chunk = toJsonText(ordered.slice(start, start + CHUNK_ROWS));
    await database.execute(sql`
      INSERT INTO ${telemetryRecords} AS t (workspace_id, ${sql.raw(NAMES)})
      SELECT ${workspaceId}::text, ${sql.raw(NAMES)} FROM jsonb_to_recordset(${chunk}::jsonb) AS r(${sql.raw(COLUMNS)})
      ON CONFLICT (workspace_id, agent, record_key) DO UPDATE SET ${sql.raw(LARGER)}
      WHERE t.kind = 'sum' AND t."timestamp" < excluded."timestamp"`);
  }
}

/** Deletes what telemetry says about a session. */
export async function deleteTelemetry(transaction: Database, workspaceId: string, sessionId: string): Promise<void> {
  await transaction
    .delete(telemetryRecords)
    .where(and(eq(telemetryRecords.workspace_id, workspaceId), eq(telemetryRecords.session_id, sessionId)));
}

/** A record as JSON has it, without its workspace. */
export type StoredTelemetryRow = Record<string, unknown>;

/** Texts that change with the telemetry of a workspace, by the days of receipt in UTC. */
export async function readTelemetryStates(database: Database, workspaceId: string): Promise<Map<string, string>> {
  const { rows } = await database.execute<{ day: string; state: string }>(sql`
    SELECT to_char(t.received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
      concat_ws(' ', count(*), sum(t.tokens_in + t.tokens_out + t.cache_read + t.cache_write),
        coalesce(sum(t.reported_cost_usd), 0), max(t.received_at)) AS state
    FROM ${telemetryRecords} AS t WHERE t.workspace_id = ${workspaceId} GROUP BY 1 ORDER BY 1`);
  return new Map(rows.map(({ day, state }) => [day, state]));
}

/** The telemetry that a workspace received on a day in UTC, page by page. */
export async function* listTelemetryRows(
  database: Database,
  workspaceId: string,
  day: string,
): AsyncGenerator<StoredTelemetryRow[]> {
  let after = { agent: '', record_key: '' };
  for (;;) {
    const { rows } = await database.execute<{ agent: string; record_key: string; row: StoredTelemetryRow }>(sql`
      SELECT t.agent, t.record_key, to_jsonb(t) - 'workspace_id' AS row FROM ${telemetryRecords} AS t
      WHERE t.workspace_id = ${workspaceId} AND (t.agent, t.record_key) > (${after.agent}, ${after.record_key})
        AND (t.received_at AT TIME ZONE 'UTC')::date = ${day}::date
      ORDER BY t.agent, t.record_key LIMIT ${CHUNK_ROWS}`);
    const last = rows.at(-1);
    if (last !== undefined) yield rows.map(({ row }) => row);
    if (last === undefined || rows.length < CHUNK_ROWS) return;
    after = last;
  }
}

/** Stores telemetry again, and leaves records alone that are there. */
export async function restoreTelemetryRows(
  transaction: Database,
  workspaceId: string,
  rows: readonly StoredTelemetryRow[],
): Promise<void> {
  if (rows.length === 0) return;
  const owned = rows.map((row) => ({ ...row, workspace_id: workspaceId }));
  // A row of an older version lacks columns, which then get their defaults.
  await transaction
    .insert(telemetryRecords)
    .values(owned as never)
    .onConflictDoNothing();
}
