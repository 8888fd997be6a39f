import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { findDisagreement, settleCopies } from '../derive/copies.ts';
import { getTableColumns, type PgTable, type SQL, sql } from '../drizzle.cjs';
import { toJsonText } from '../schema/column-types.ts';
import { listColumns } from '../schema/list-columns.ts';
import { transcripts } from '../schema/transcripts.ts';
import { usageEntries, usageLedger } from '../schema/usage.ts';
import { isReplaced, type UsageChange } from '../transcripts/replaced-usage.ts';
import {
  type ChangedResponse,
  fromKeys,
  KEYS_PER_STEP,
  listChangedResponses,
  type ResponseKey,
  toKey,
  toName,
  toResponseName,
} from './changed-responses.ts';
import { COPY_COLUMNS, FIGURE_COLUMNS, KEY_COLUMNS, ORIGIN_COLUMNS } from './ledger-definition.ts';
import { chooseOwnCalls, type StoredCopy } from './own-calls.ts';

/** Copies that are held in memory at a time, about a kilobyte each; a response's copies are held together. */
const COPIES_PER_STEP = 5000;

/** Responses of a transcript, whose ledger rows the caller has and writes, unless others have copies of them. */
export interface KnownResponses {
  rowSetId: string;
  agent: string;
  /** Each once. */
  responseKeys: readonly string[];
}

export interface SettledLedger {
  /** Sessions whose roll-ups or findings are no longer right: what they are credited with, or own, has changed. */
  affectedIds: Set<string>;
  /** Names of the known responses whose rows are written, because others have copies of them; see `toResponseName`. */
  sharedNames: Set<string>;
}

type LedgerRow = typeof usageLedger.$inferSelect;

/**
 * Makes the ledger's rows of all responses that a change concerns agree with their copies, except `known` ones without
 * other copies. `lockedNames` are the result of `lockLedger`.
 */
export async function settleUsageLedger(
  transaction: Database,
  change: UsageChange,
  known: readonly KnownResponses[],
  lockedNames: ReadonlySet<string>,
): Promise<SettledLedger> {
  const settling = new LedgerSettling(transaction, change);
  const [owners, shared] = listOwners(known);
  const knownIds = new Set(known.map(({ rowSetId }) => rowSetId));
  const others = {
    ...change,
    written: change.written.filter(({ rowSetId }) => !knownIds.has(rowSetId)),
  };
  let last: ChangedResponse | undefined;
  while (others.written.length > 0 || others.removedRowSetIds.length > 0) {
    const changed = await listChangedResponses(transaction, others, last);
    const isFresh = (response: ChangedResponse): boolean =>
      response.is_single && response.copy_count === null && !owners.has(toName(response));
    await settling.insertSingle(changed.filter(isFresh));
    const contested = changed.filter((response) => !isFresh(response));
    for (const response of contested) if (owners.has(toName(response))) shared.add(toName(response));
    await settling.settle(contested.map(toKey));
    if (changed.length < (change.keysPerStep ?? KEYS_PER_STEP)) break;
    last = changed.at(-1);
  }
  for (const name of lockedNames) if (owners.has(name)) shared.add(name);
  await settling.settle([...shared].flatMap((name) => owners.get(name) ?? []));
  return { affectedIds: settling.affectedIds, sharedNames: shared };
}

/** Known responses by name, and the names of those that several of the transcripts have. */
function listOwners(known: readonly KnownResponses[]): [owners: Map<string, ResponseKey>, shared: Set<string>] {
  const owners = new Map<string, ResponseKey>();
  const shared = new Set<string>();
  for (const { agent, responseKeys } of known) {
    for (const responseKey of responseKeys) {
      const name = toResponseName(agent, responseKey);
      if (owners.has(name)) shared.add(name);
      else owners.set(name, { agent, responseKey, copyCount: 1 });
    }
  }
  return [owners, shared];
}

/** The driver's values of a table's columns as drizzle reads them. */
function toRow<Table extends PgTable>(table: Table, values: Record<string, unknown>): Table['$inferSelect'] {
  const columns = Object.entries(getTableColumns(table));
  return Object.fromEntries(
    columns.map(([name, column]) => {
      const value = values[name];
      return [name, value === null || value === undefined ? null : column.mapFromDriverValue(value)];
    }),
  );
}

class LedgerSettling {
  readonly affectedIds = new Set<string>();
  readonly #transaction: Database;
  readonly #change: UsageChange;
  readonly #workspace: SQL;

  constructor(transaction: Database, change: UsageChange) {
    this.#transaction = transaction;
    this.#change = change;
    this.#workspace = opaqueWorkspaceId(change.workspaceId);
  }

  /** Inserts the rows of responses with a single copy, which is all that there is. */
  async insertSingle(responses: readonly ChangedResponse[]): Promise<void> {
    if (responses.length === 0) return;
    const columns = listColumns([...KEY_COLUMNS, ...ORIGIN_COLUMNS, ...FIGURE_COLUMNS], (name) => name);
    await this.#transaction.execute(sql`
      INSERT INTO ${usageLedger} (${columns}, copy_count)
      SELECT e.*, 1 FROM ${fromKeys(responses)}
      JOIN LATERAL (
        SELECT ${columns} FROM ${usageEntries}
        WHERE workspace_id = ${this.#workspace} AND agent = k.agent AND response_key = k.response_key OFFSET 0
      ) AS e ON true`);
  }

  /** Settles responses by all of their copies, with the tool calls that they made, some thousand copies at a time. */
  async settle(keys: readonly ResponseKey[]): Promise<void> {
    let step: ResponseKey[] = [];
    let copyCount = 0;
    for (const key of keys) {
      if (copyCount + key.copyCount > COPIES_PER_STEP && step.length > 0) {
        await this.#settleStep(step);
        [step, copyCount] = [[], 0];
      }
      step.push(key);
      copyCount += key.copyCount + 1;
    }
    if (step.length > 0) await this.#settleStep(step);
  }

  async #settleStep(keys: readonly ResponseKey[]): Promise<void> {
    const from = fromKeys(keys.map(({ agent, responseKey }) => ({ agent, response_key: responseKey })));
    // Locked before the copies are read, so that copies which earlier holders committed are among them.
    const rowsByName = new Map(
      (await this.#lockRows(from)).map((row) => [toResponseName(row.agent, row.response_key), row]),
    );
    const copiesByName = Map.groupBy(await this.#readCopies(from), ({ response }) =>
      toResponseName(response.agent, response.response_key),
    );
    const [inserted, updated, deleted]: [LedgerRow[], LedgerRow[], LedgerRow[]] = [[], [], []];
    for (const { agent, responseKey } of keys) {
      const name = toResponseName(agent, responseKey);
      const [copies, before] = [copiesByName.get(name), rowsByName.get(name)];
      const now = copies && toLedgerRow(copies);
      if (now === undefined && before === undefined) continue;
      this.#addAffected(before, now);
      if (now === undefined) deleted.push(before as LedgerRow);
      else if (before === undefined) inserted.push(now);
      else if (!areEqual(before, now, LEDGER_COLUMNS)) updated.push(now);
    }
    await this.#write(inserted, updated, deleted);
    for (const sessionId of await chooseOwnCalls(this.#transaction, this.#change, copiesByName)) {
      this.affectedIds.add(sessionId);
    }
  }

  #addAffected(before: LedgerRow | undefined, now: LedgerRow | undefined): void {
    if (before !== undefined && now !== undefined && areEqual(before, now, COUNTED_COLUMNS)) return;
    if (before !== undefined) this.affectedIds.add(before.session_id);
    if (now !== undefined) this.affectedIds.add(now.session_id);
  }

  /** The copies that stay. Looked up one by one, as few belong to a response. */
  async #readCopies(from: SQL): Promise<StoredCopy[]> {
    const { rows } = await this.#transaction.execute(sql`
      SELECT e.*, t.is_stream, t.first_timestamp, t.size_bytes, t.sha256 FROM ${from}
      JOIN LATERAL (
        SELECT * FROM ${usageEntries}
        WHERE workspace_id = ${this.#workspace} AND agent = k.agent AND response_key = k.response_key OFFSET 0
      ) AS e ON true
      JOIN LATERAL (
        SELECT is_stream, first_timestamp, size_bytes, sha256 FROM ${transcripts}
        WHERE workspace_id = ${this.#workspace} AND row_set_id = e.row_set_id OFFSET 0
      ) AS t ON true
      WHERE NOT ${isReplaced(this.#change, 'e', 'entry')}`);
    return rows.map((row) => {
      const response = toRow(usageEntries, row);
      const { is_stream, first_timestamp, size_bytes, sha256 } = toRow(transcripts, row);
      return {
        ...{ response, entryNumber: response.entry_number, isStream: is_stream },
        ...{ firstTimestamp: first_timestamp, sizeBytes: size_bytes, sha256 },
      };
    });
  }

  /**
   * Rows that another transaction inserted after `lockLedger` are not locked yet. They come out of order; a deadlock is
   * a conflict, and the settling starts again.
   */
  async #lockRows(from: SQL): Promise<LedgerRow[]> {
    const { rows } = await this.#transaction.execute(sql`
      SELECT l.* FROM ${from}
      JOIN LATERAL (
        SELECT * FROM ${usageLedger}
        WHERE workspace_id = ${this.#workspace} AND agent = k.agent AND response_key = k.response_key FOR UPDATE
      ) AS l ON true`);
    return rows.map((row) => toRow(usageLedger, row));
  }

  async #write(
    inserted: readonly LedgerRow[],
    updated: readonly LedgerRow[],
    deleted: readonly LedgerRow[],
  ): Promise<void> {
    const columns = listColumns(LEDGER_COLUMNS, (name) => name);
    const toRows = (rows: readonly LedgerRow[]): SQL =>
      sql`jsonb_populate_recordset(NULL::${usageLedger}, ${toJsonText(rows)}::jsonb)`;
    const ofKeys = (alias: string): SQL =>
      sql.raw(`l.agent = ${alias}.agent AND l.response_key = ${alias}.response_key`);
    if (inserted.length > 0) {
      await this.#transaction.execute(
        sql`INSERT INTO ${usageLedger} (${columns}) SELECT ${columns} FROM ${toRows(inserted)}`,
      );
    }
    if (updated.length > 0) {
      const values = LEDGER_COLUMNS.filter((name) => !KEY_COLUMNS.includes(name));
      await this.#transaction.execute(sql`
        UPDATE ${usageLedger} AS l SET ${listColumns(values, (name) => `${name} = r.${name}`)}
        FROM ${toRows(updated)} AS r WHERE l.workspace_id = ${this.#workspace} AND ${ofKeys('r')}`);
    }
    if (deleted.length > 0) {
      await this.#transaction.execute(
        sql`DELETE FROM ${usageLedger} AS l USING ${fromKeys(deleted)} WHERE l.workspace_id = ${this.#workspace} AND ${ofKeys('k')}`,
      );
    }
  }
}

const LEDGER_COLUMNS = [...KEY_COLUMNS, ...ORIGIN_COLUMNS, ...FIGURE_COLUMNS, ...COPY_COLUMNS] as (keyof LedgerRow)[];
/** The columns that anything else is derived from. */
const COUNTED_COLUMNS = [...ORIGIN_COLUMNS, ...FIGURE_COLUMNS] as (keyof LedgerRow)[];

const areEqual = (one: LedgerRow, other: LedgerRow, columns: readonly (keyof LedgerRow)[]): boolean =>
  columns.every((name) => one[name] === other[name] || JSON.stringify(one[name]) === JSON.stringify(other[name]));

function toLedgerRow(copies: readonly StoredCopy[]): LedgerRow {
  const { credited, final } = settleCopies(copies);
  const disagreement = findDisagreement(copies);
  const { is_marked_copy: _mark, line_number: _line, entry_number: _number, ...figures } = final;
  return {
    ...figures,
    ...Object.fromEntries(ORIGIN_COLUMNS.map((name) => [name, credited[name]])),
    copy_count: copies.length,
    disagreements: disagreement?.facts ?? null,
    lowest_cost_usd: disagreement?.lowestCostUsd ?? null,
    highest_cost_usd: disagreement?.highestCostUsd ?? null,
  };
}
