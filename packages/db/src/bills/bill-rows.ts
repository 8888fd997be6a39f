import { createHash } from 'node:crypto';
import type { BillList } from '@recount/contract';
import { type BillRow, findRegrouped, toEarlierIdentities } from '@recount/core';
import type { Database } from '../database/database.ts';
import { lockWorkspaceChanges } from '../database/locks.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { billRows } from '../schema/bills.ts';
import { toJsonText } from '../schema/column-types.ts';
import { type Actor, addAuditEntry } from '../workspaces/audit-log.ts';

const toKey = (identity: string): string => createHash('sha256').update(identity).digest('base64url').slice(0, 24);

const NAMES = sql.raw(
  'row_key, kind, day, model, line_item, scope, service_tier, amount_usd, tokens_in, tokens_out, cache_read, cache_write',
);
const COLUMNS = sql.raw(`row_key text, kind text, day text, model text, line_item text, scope text, service_tier text,
  amount_usd numeric, tokens_in bigint, tokens_out bigint, cache_read bigint, cache_write bigint`);
const CHANGES = sql.raw(
  ['scope', 'service_tier', 'amount_usd', 'tokens_in', 'tokens_out', 'cache_read', 'cache_write', 'imported_at']
    .map((name) => `${name} = excluded.${name}`)
    .join(', '),
);

interface BillImport {
  workspaceId: string;
  vendor: string;
  actor: Actor;
}

/** Days have lines already that are grouped otherwise, so that both together count an amount twice. */
export class RegroupedBillError extends Error {
  override name = 'RegroupedBillError';
  /** The first of these days. */
  readonly day: string;

  constructor(day: string) {
    super(`The lines of ${day} are grouped otherwise than those that are stored.`);
    this.day = day;
  }
}

async function requireSameGroups(
  transaction: Database,
  { workspaceId, vendor }: BillImport,
  rows: readonly BillRow[],
  replacedKeys: readonly string[],
): Promise<void> {
  const days = [...new Set(rows.map(({ day }) => day))];
  const keys = [...replacedKeys, ...rows.map(({ identity }) => toKey(identity))];
  const { rows: stored } = await transaction.execute<
    Parameters<typeof findRegrouped>[1][number] & Record<string, unknown>
  >(sql`
    SELECT DISTINCT b.day, b.kind, b.line_item AS "lineItem", b.model, b.scope, b.service_tier AS "serviceTier"
    FROM ${billRows} AS b
    WHERE b.workspace_id = ${workspaceId} AND b.vendor = ${vendor}
      AND b.day = ANY(${sql.param(days)}::text[]) AND NOT b.row_key = ANY(${sql.param(keys)}::text[])`);
  const day = findRegrouped(rows, stored);
  if (day !== undefined) throw new RegroupedBillError(day);
}

/**
 * Keys of stored tokens that the new lines replace under another key, because earlier versions stored tokens by context
 * window and region in separate lines.
 */
function toReplacedKeys(vendor: string, rows: readonly BillRow[]): string[] {
  if (vendor !== 'anthropic') return [];
  const added = new Set(rows.map(({ identity }) => identity));
  const earlier = rows.flatMap((row) => toEarlierIdentities(row)).filter((identity) => !added.has(identity));
  return earlier.map(toKey);
}

/**
 * Stores lines of a report. A line that is known gets the figures of the new report, as vendors correct theirs for some
 * days. Identities must differ. Throws RegroupedBillError.
 */
export async function storeBill(
  transaction: Database,
  { workspaceId, vendor, actor }: BillImport,
  rows: readonly BillRow[],
): Promise<void> {
  if (rows.length === 0) return;
  // Two imports at a time would not see each other's lines.
  await lockWorkspaceChanges(transaction, workspaceId);
  const replacedKeys = toReplacedKeys(vendor, rows);
  await requireSameGroups(transaction, { workspaceId, vendor, actor }, rows, replacedKeys);
  const values = rows.map((row) => ({
    row_key: toKey(row.identity),
    kind: row.kind,
    day: row.day,
    model: row.model,
    line_item: row.lineItem,
    scope: row.scope,
    service_tier: row.serviceTier,
    amount_usd: row.amountUsd,
    tokens_in: row.inputTokens,
    tokens_out: row.outputTokens,
    cache_read: row.cacheReadTokens,
    cache_write: row.cacheWriteTokens,
  }));
  await transaction.execute(sql`
    DELETE FROM ${billRows} AS b
    WHERE b.workspace_id = ${workspaceId} AND b.vendor = ${vendor} AND b.row_key = ANY(${sql.param(replacedKeys)}::text[])`);
  await transaction.execute(sql`
    INSERT INTO ${billRows} (workspace_id, vendor, ${NAMES})
    SELECT ${workspaceId}::text, ${vendor}::text, ${NAMES} FROM jsonb_to_recordset(${toJsonText(values)}::jsonb) AS r(${COLUMNS})
    ORDER BY row_key
    ON CONFLICT (workspace_id, vendor, row_key) DO UPDATE SET ${CHANGES}`);
  const days = rows.map(({ day }) => day).sort();
  const details = { vendor, lines: rows.length, first_day: days[0], last_day: days.at(-1) };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'bill.import', subjects: [vendor], details });
}

/** Inclusive; undefined means without a limit. */
export interface BillDays {
  firstDay?: string | undefined;
  lastDay?: string | undefined;
}

const isWithin = ({ firstDay, lastDay }: BillDays): SQL =>
  sql`(${firstDay ?? null}::text IS NULL OR b.day >= ${firstDay ?? null}) AND (${lastDay ?? null}::text IS NULL OR b.day <= ${lastDay ?? null})`;

/** Deletes a vendor's lines of these days, and returns their number. */
export async function deleteBill(
  transaction: Database,
  { workspaceId, vendor, actor }: BillImport,
  days: BillDays,
): Promise<number> {
  const { rowCount } = await transaction.execute(sql`
    DELETE FROM ${billRows} AS b
    WHERE b.workspace_id = ${workspaceId} AND b.vendor = ${vendor} AND ${isWithin(days)}`);
  const lines = rowCount ?? 0;
  const details = { vendor, lines, first_day: days.firstDay ?? null, last_day: days.lastDay ?? null };
  if (lines > 0)
    await addAuditEntry(transaction, { workspaceId, actor, action: 'bill.delete', subjects: [vendor], details });
  return lines;
}

type BillSummary = BillList['bills'][number];

/** The imported lines, summed by vendor. */
export async function listBills(database: Database, workspaceId: string): Promise<BillSummary[]> {
  const { rows } = await database.execute<BillSummary & Record<string, unknown>>(sql`
    SELECT b.vendor, count(*)::int AS lines, min(b.day) AS first_day, max(b.day) AS last_day,
      coalesce(sum(b.amount_usd), 0)::float8 AS amount_usd,
      to_char(max(b.imported_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS imported_at
    FROM ${billRows} AS b WHERE b.workspace_id = ${workspaceId} GROUP BY b.vendor ORDER BY b.vendor`);
  return rows;
}

/** A line of a bill as JSON has it, without its workspace. */
export type StoredBillRow = Record<string, unknown>;

/** Changes with the imported lines of a workspace; undefined if it has none. */
export async function readBillState(database: Database, workspaceId: string): Promise<string | undefined> {
  const { rows } = await database.execute<{ count: number; latest: string | null }>(sql`
    SELECT count(*)::int AS count, max(imported_at)::text AS latest FROM ${billRows} WHERE workspace_id = ${workspaceId}`);
  const [row] = rows;
  return row === undefined || row.count === 0 ? undefined : `${row.count} ${row.latest}`;
}

const PAGE_ROWS = 500;

/** All imported lines of a workspace, page by page. */
export async function* listBillRows(database: Database, workspaceId: string): AsyncGenerator<StoredBillRow[]> {
  let after = { vendor: '', row_key: '' };
  for (;;) {
    const { rows } = await database.execute<{ vendor: string; row_key: string; row: StoredBillRow }>(sql`
      SELECT b.vendor, b.row_key, to_jsonb(b) - 'workspace_id' AS row FROM ${billRows} AS b
      WHERE b.workspace_id = ${workspaceId} AND (b.vendor, b.row_key) > (${after.vendor}, ${after.row_key})
      ORDER BY b.vendor, b.row_key LIMIT ${PAGE_ROWS}`);
    const last = rows.at(-1);
    if (last !== undefined) yield rows.map(({ row }) => row);
    if (last === undefined || rows.length < PAGE_ROWS) return;
    after = last;
  }
}

/** Stores imported lines again, and leaves those alone that are there. */
export async function restoreBillRows(
  transaction: Database,
  workspaceId: string,
  rows: readonly StoredBillRow[],
): Promise<void> {
  if (rows.length === 0) return;
  const owned = rows.map((row) => ({ ...row, workspace_id: workspaceId }));
  // A row of an older version lacks columns, which then get their defaults.
  await transaction
    .insert(billRows)
    .values(owned as never)
    .onConflictDoNothing();
}
