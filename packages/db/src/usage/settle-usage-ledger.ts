import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { sql } from '../drizzle.cjs';
import { listColumns } from '../schema/list-columns.ts';
import { transcripts } from '../schema/transcripts.ts';
import { toolCalls, usageEntries, usageLedger } from '../schema/usage.ts';
import { isInvolved, isReplaced, type UsageChange } from '../transcripts/replaced-usage.ts';
import type { RowSet } from '../transcripts/transcript-rows.ts';
import {
  COPY_COLUMNS,
  FIGURE_COLUMNS,
  IS_CREDITED_CALL,
  KEY_COLUMNS,
  ORIGIN_COLUMNS,
  selectEntries,
  selectLedgerRows,
} from './ledger-definition.ts';

/** Responses settled by one set of statements. */
const KEYS_PER_STEP = 20_000;

interface ResponseKeys {
  agents: string[];
  responseKeys: string[];
}

/** A response that the change concerns. */
interface ChangedResponse {
  agent: string;
  response_key: string;
  /** It occurs once in the transcripts of the change, and stays there. */
  is_single: boolean;
  /** The transcripts of the change lose it. */
  is_gone: boolean;
}

/**
 * Updates the ledger rows of all responses that the change concerns to match the entries, without those that it
 * replaces. Returns the sessions that are or were credited with one of them, or own one of their tool calls.
 */
export async function settleUsageLedger(transaction: Database, change: UsageChange): Promise<Set<string>> {
  const affected = new Set<string>();
  for (const written of change.written) await inheritOwnership(transaction, written);
  let last: ChangedResponse | undefined;
  for (;;) {
    const changed = await listChangedResponses(transaction, change, last);
    if (changed.length === 0) return affected;
    const held = await lockOrInsert(transaction, change, changed, affected);
    if (held.responseKeys.length > 0) {
      await recompute(transaction, change, held, affected);
      const gone = changed.filter(({ is_gone }) => is_gone);
      if (gone.length > 0) await deleteWithoutCopy(transaction, change, toKeys(gone));
      await chooseOwnToolCalls(transaction, change, held, affected);
    }
    if (changed.length < KEYS_PER_STEP) return affected;
    last = changed.at(-1);
  }
}

/**
 * A tool call that was open when its transcript was written, and whose response is unchanged, is written again. It
 * counts if the call that it replaces did.
 */
async function inheritOwnership(
  transaction: Database,
  { workspaceId, rowSetId, firstNewNumbers, prefix }: RowSet,
): Promise<void> {
  if (prefix === undefined || prefix.numbers.call === firstNewNumbers.call) return;
  const workspace = opaqueWorkspaceId(workspaceId);
  await transaction.execute(sql`
    UPDATE ${toolCalls} AS c SET is_own = false
    FROM ${toolCalls} AS replaced
    WHERE c.workspace_id = ${workspace} AND c.row_set_id = ${rowSetId} AND c.call_number >= ${firstNewNumbers.call}::int
      AND replaced.workspace_id = ${workspace} AND replaced.row_set_id = ${rowSetId}
      AND replaced.call_number >= ${prefix.numbers.call}::int AND replaced.call_number < ${firstNewNumbers.call}::int
      AND replaced.call_key = c.call_key AND NOT replaced.is_own`);
}

async function listChangedResponses(
  transaction: Database,
  change: UsageChange,
  after: ChangedResponse | undefined,
): Promise<ChangedResponse[]> {
  const { rows } = await transaction.execute<ChangedResponse & Record<string, unknown>>(sql`
    SELECT agent COLLATE "C" AS agent, response_key,
      count(*) = 1 AND NOT bool_or(${isReplaced(change, 'e', 'entry')}) AS is_single,
      bool_and(${isReplaced(change, 'e', 'entry')}) AS is_gone
    FROM ${usageEntries} AS e
    WHERE ${isInvolved(change, 'e', 'entry')}
      -- From a query, so that no index by response is read for the whole workspace.
      AND (agent COLLATE "C", response_key) > (SELECT ${after?.agent ?? ''}::text, ${after?.response_key ?? ''}::text)
    GROUP BY 1, 2 ORDER BY 1, 2 LIMIT ${KEYS_PER_STEP}`);
  return rows;
}

const toKeys = (rows: readonly Pick<ChangedResponse, 'agent' | 'response_key'>[]): ResponseKeys => ({
  agents: rows.map(({ agent }) => agent),
  responseKeys: rows.map(({ response_key }) => response_key),
});

const keysTable = ({ agents, responseKeys }: ResponseKeys) => sql`
  unnest(${sql.param(agents)}::text[], ${sql.param(responseKeys)}::text[]) AS k(agent, response_key)`;

/**
 * Locks the ledger rows of the responses, and inserts missing ones. No one else holds those responses, so these rows
 * are already right. Returns the keys whose rows must be computed from all copies.
 */
async function lockOrInsert(
  transaction: Database,
  change: UsageChange,
  changed: readonly ChangedResponse[],
  affected: Set<string>,
): Promise<ResponseKeys> {
  const columns = listColumns([...KEY_COLUMNS, ...ORIGIN_COLUMNS, ...FIGURE_COLUMNS], (name) => name);
  const [from, to] = [changed[0], changed.at(-1)];
  const { rows } = await transaction.execute<{
    agent: string;
    response_key: string;
    session_id: string;
    is_new: boolean;
  }>(sql`
    INSERT INTO ${usageLedger} AS l (${columns}, copy_count)
    SELECT DISTINCT ON (agent COLLATE "C", response_key) ${columns}, 1
    FROM ${usageEntries} AS e
    WHERE ${isInvolved(change, 'e', 'entry')}
      AND (agent COLLATE "C", response_key) >= (${from?.agent}, ${from?.response_key})
      AND (agent COLLATE "C", response_key) <= (${to?.agent}, ${to?.response_key})
    ORDER BY agent COLLATE "C", response_key
    ON CONFLICT (workspace_id, agent, response_key) DO UPDATE SET copy_count = l.copy_count
    -- A row that this statement inserted has no xmax.
    RETURNING agent, response_key, session_id, xmax = 0 AS is_new`);
  for (const { session_id } of rows) affected.add(session_id);
  const single = new Set(changed.filter(({ is_single }) => is_single).map(toName));
  return toKeys(rows.filter((row) => !(row.is_new && single.has(toName(row)))));
}

const toName = ({ agent, response_key }: Pick<ChangedResponse, 'agent' | 'response_key'>): string =>
  `${agent} ${response_key}`;

async function recompute(
  transaction: Database,
  change: UsageChange,
  keys: ResponseKeys,
  affected: Set<string>,
): Promise<void> {
  const workspace = opaqueWorkspaceId(change.workspaceId);
  const { rows } = await transaction.execute<{ session_id: string }>(sql`
    -- Made once: while the ledger is thought to be empty, it would be made again for each row of the workspace.
    WITH response AS MATERIALIZED (
      ${selectLedgerRows(
        // By the response alone, because few entries belong to one. Planners that expect few rows would pair all keys
        // with all entries of the workspace.
        sql`${keysTable(keys)}
          JOIN LATERAL (
            ${selectEntries(sql`workspace_id = ${workspace} AND agent = k.agent AND response_key = k.response_key`)}
            OFFSET 0
          ) AS e ON true
          JOIN LATERAL (
            SELECT * FROM ${transcripts} WHERE workspace_id = ${workspace} AND row_set_id = e.row_set_id OFFSET 0
          ) AS t ON true`,
        sql`NOT ${isReplaced(change, 'e', 'entry')}`,
      )}
    ), updated AS (
      UPDATE ${usageLedger} AS l
      SET ${listColumns([...ORIGIN_COLUMNS, ...FIGURE_COLUMNS, ...COPY_COLUMNS], (name) => `${name} = r.${name}`)}
      FROM response AS r
      WHERE l.workspace_id = ${workspace} AND l.agent = r.agent AND l.response_key = r.response_key
      RETURNING l.session_id
    )
    SELECT DISTINCT session_id FROM updated`);
  for (const { session_id } of rows) affected.add(session_id);
}

async function deleteWithoutCopy(transaction: Database, change: UsageChange, keys: ResponseKeys): Promise<void> {
  const workspace = opaqueWorkspaceId(change.workspaceId);
  await transaction.execute(sql`
    DELETE FROM ${usageLedger} AS l USING ${keysTable(keys)}
    LEFT JOIN LATERAL (
      SELECT row_set_id, entry_number FROM ${usageEntries}
      WHERE workspace_id = ${workspace} AND agent = k.agent AND response_key = k.response_key OFFSET 0
    ) AS e ON NOT ${isReplaced(change, 'e', 'entry')}
    WHERE l.workspace_id = ${workspace} AND l.agent = k.agent AND l.response_key = k.response_key
      AND e.row_set_id IS NULL`);
}

/** Of the copies of a tool call, the one in the best credited transcript counts. */
async function chooseOwnToolCalls(
  transaction: Database,
  change: UsageChange,
  keys: ResponseKeys,
  affected: Set<string>,
): Promise<void> {
  const workspace = opaqueWorkspaceId(change.workspaceId);
  const { rows } = await transaction.execute<{ session_id: string }>(sql`
    WITH copy AS (
      SELECT c.row_set_id, c.call_number, c.is_own, ${IS_CREDITED_CALL} AS is_credited
      FROM ${keysTable(keys)}
      -- By the response alone, which few calls and entries are of: planners would read all of the transcript for each
      -- response.
      JOIN LATERAL (
        SELECT * FROM ${toolCalls} WHERE workspace_id = ${workspace} AND response_key = k.response_key OFFSET 0
      ) AS c ON true
      JOIN LATERAL (
        SELECT * FROM ${usageEntries}
        WHERE workspace_id = ${workspace} AND agent = k.agent AND response_key = c.response_key OFFSET 0
      ) AS e ON e.row_set_id = c.row_set_id AND e.source = 'message'
      JOIN ${transcripts} AS t ON t.workspace_id = ${workspace} AND t.row_set_id = e.row_set_id
      WHERE NOT ${isReplaced(change, 'c', 'call')} AND NOT ${isReplaced(change, 'e', 'entry')}
    ), changed AS MATERIALIZED (
      -- A response may stand in several entries of its transcript.
      SELECT row_set_id, call_number, bool_or(is_credited) AS is_own FROM copy
      GROUP BY 1, 2, copy.is_own HAVING bool_or(is_credited) <> copy.is_own
    )
    UPDATE ${toolCalls} AS c SET is_own = changed.is_own
    FROM changed
    WHERE c.workspace_id = ${workspace} AND c.row_set_id = changed.row_set_id AND c.call_number = changed.call_number
    RETURNING c.session_id`);
  for (const { session_id } of rows) affected.add(session_id);
}
