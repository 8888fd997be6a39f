import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { transcripts } from '../schema/transcripts.ts';
import { toolCalls, usageEntries, usageLedger } from '../schema/usage.ts';
import { isInvolved, isReplaced, type UsageChange } from '../transcripts/replaced-usage.ts';

/** Responses that are listed at a time, if a change does not say. */
export const KEYS_PER_STEP = 20_000;

export interface ResponseKey {
  agent: string;
  responseKey: string;
  /** Copies that have been settled before. */
  copyCount: number;
}

export const toResponseName = (agent: string, responseKey: string): string => `${agent} ${responseKey}`;

/** A response whose copies the change adds or removes. */
export type ChangedResponse = {
  agent: string;
  response_key: string;
  /** The change adds one copy, and removes none. */
  is_single: boolean;
  /** Null if it is new. */
  copy_count: number | null;
};

export const toName = ({ agent, response_key }: ChangedResponse): string => toResponseName(agent, response_key);

export const toKey = ({ agent, response_key, copy_count }: ChangedResponse): ResponseKey => ({
  agent,
  responseKey: response_key,
  copyCount: copy_count ?? 1,
});

/**
 * Copies that the change adds or removes, as `agent`, `response_key`, `row_set_id` and `is_replaced`. A call that was
 * open when its transcript was written is written again, and its response may be closed.
 */
function selectChanged(change: UsageChange): SQL {
  const workspace = opaqueWorkspaceId(change.workspaceId);
  const entries = sql`
    SELECT e.agent COLLATE "C" AS agent, e.response_key, e.row_set_id, ${isReplaced(change, 'e', 'entry')} AS is_replaced
    FROM ${usageEntries} AS e WHERE ${isInvolved(change, 'e', 'entry')}`;
  const grown = change.written.filter(({ prefix }) => prefix !== undefined);
  if (grown.length === 0) return entries;
  return sql`${entries}
    UNION ALL
    SELECT t.agent COLLATE "C", c.response_key, c.row_set_id, true FROM ${toolCalls} AS c
    JOIN ${transcripts} AS t ON t.workspace_id = ${workspace} AND t.row_set_id = c.row_set_id
    WHERE c.response_key IS NOT NULL AND ${isInvolved({ ...change, written: grown, removedRowSetIds: [] }, 'c', 'call')}`;
}

/**
 * Locks the ledger's rows of all responses that the change concerns, in the order of their keys. All writers do this
 * before they write any, and then insert new ones in that order, so that none waits for one that waits for it. Returns
 * the names of responses of the row sets `listed`.
 */
export async function lockLedger(
  transaction: Database,
  change: UsageChange,
  listed: readonly string[],
): Promise<Set<string>> {
  const workspace = opaqueWorkspaceId(change.workspaceId);
  const { rows } = await transaction.execute<{ agent: string; response_key: string }>(sql`
    SELECT agent, response_key FROM (
      SELECT l.agent, l.response_key, k.is_listed
      FROM (
        SELECT agent, response_key, bool_or(row_set_id = ANY(${sql.param([...listed])}::text[])) AS is_listed
        FROM (${selectChanged(change)}) AS c
        GROUP BY 1, 2 ORDER BY 1, 2 OFFSET 0
      ) AS k
      -- Looked up one by one in that order. The table has no statistics while a workspace is filled.
      JOIN LATERAL (
        SELECT agent, response_key FROM ${usageLedger}
        WHERE workspace_id = ${workspace} AND agent = k.agent AND response_key = k.response_key FOR UPDATE
      ) AS l ON true
      OFFSET 0
    ) AS locked WHERE is_listed`);
  return new Set(rows.map(({ agent, response_key }) => toResponseName(agent, response_key)));
}

/** The next responses in the order of their keys, at most `keysPerStep` of the change; fewer are the last. */
export async function listChangedResponses(
  transaction: Database,
  change: UsageChange,
  after: ChangedResponse | undefined,
): Promise<ChangedResponse[]> {
  const workspace = opaqueWorkspaceId(change.workspaceId);
  const { rows } = await transaction.execute<ChangedResponse>(sql`
    SELECT k.agent, k.response_key, k.is_single, l.copy_count
    FROM (
      SELECT agent, response_key, count(*) = 1 AND NOT bool_or(is_replaced) AS is_single
      FROM (${selectChanged(change)}) AS c
      -- From a query, so that no index by response is read for the whole workspace.
      WHERE (agent, response_key) > (SELECT ${after?.agent ?? ''}::text COLLATE "C", ${after?.response_key ?? ''}::text COLLATE "C")
      GROUP BY 1, 2 ORDER BY 1, 2 LIMIT ${change.keysPerStep ?? KEYS_PER_STEP}
    ) AS k
    LEFT JOIN LATERAL (
      SELECT copy_count FROM ${usageLedger}
      WHERE workspace_id = ${workspace} AND agent = k.agent AND response_key = k.response_key OFFSET 0
    ) AS l ON true
    ORDER BY 1, 2`);
  return rows;
}

/** Responses as a FROM item `k(agent, response_key)`. */
export const fromKeys = (keys: readonly { agent: string; response_key: string }[]): SQL => sql`
  unnest(${sql.param(keys.map(({ agent }) => agent))}::text[],
    ${sql.param(keys.map(({ response_key }) => response_key))}::text[]) AS k(agent, response_key)`;
