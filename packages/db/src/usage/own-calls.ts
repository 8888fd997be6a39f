import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { compareCredit, type ResponseCopy } from '../derive/copies.ts';
import { sql } from '../drizzle.cjs';
import { toolCalls, type usageEntries } from '../schema/usage.ts';
import { isReplaced, type UsageChange } from '../transcripts/replaced-usage.ts';
import { toResponseName } from './changed-responses.ts';

export type StoredCopy = ResponseCopy<typeof usageEntries.$inferSelect>;

type CallCopy = {
  row_set_id: string;
  call_number: number;
  session_id: string;
  call_key: string;
  response_key: string;
  is_own: boolean;
};

/** A response in a row set, which has one agent. */
const toPlace = ({ row_set_id, response_key }: { row_set_id: string; response_key: string }): string =>
  `${row_set_id} ${response_key}`;

/** The call, which may have other copies. */
const toCallName = ({ copy, call_key }: CallCopy & { copy: StoredCopy }): string =>
  `${toResponseName(copy.response.agent, copy.response.response_key)}\0${call_key}`;

/**
 * The copy of a tool call in the best credited transcript counts. `copiesByName` are all copies of some
 * responses, by `toResponseName`. Returns the sessions whose own calls have changed.
 */
export async function chooseOwnCalls(
  transaction: Database,
  change: UsageChange,
  copiesByName: ReadonlyMap<string, readonly StoredCopy[]>,
): Promise<Set<string>> {
  const calls = await readCalls(
    transaction,
    change,
    new Set(Array.from(copiesByName.values(), ([copy]) => copy?.response.response_key ?? '')),
  );
  if (calls.length === 0) return new Set();
  const bestByPlace = new Map<string, StoredCopy>();
  for (const copy of [...copiesByName.values()].flat()) {
    if (copy.response.source !== 'message') continue;
    const place = toPlace(copy.response);
    const best = bestByPlace.get(place);
    if (best === undefined || compareCredit(copy, best) < 0) bestByPlace.set(place, copy);
  }
  const placed = calls.flatMap((call) => {
    const copy = bestByPlace.get(toPlace(call));
    return copy === undefined ? [] : { ...call, copy };
  });
  const changed = [...Map.groupBy(placed, toCallName).values()].flatMap((copies) => {
    const [own, ...others] = copies.sort(
      (one, other) => compareCredit(one.copy, other.copy) || one.call_number - other.call_number,
    );
    return [...(own?.is_own === false ? [own] : []), ...others.filter(({ is_own }) => is_own)];
  });
  await flipOwnCalls(transaction, change, changed);
  return new Set(changed.map(({ session_id }) => session_id));
}

async function readCalls(
  transaction: Database,
  change: UsageChange,
  responseKeys: ReadonlySet<string>,
): Promise<CallCopy[]> {
  const { rows } = await transaction.execute<CallCopy>(sql`
      SELECT c.row_set_id, c.call_number, c.session_id, c.call_key, c.response_key, c.is_own
      FROM unnest(${sql.param([...responseKeys])}::text[]) AS k(response_key)
      JOIN LATERAL (
        SELECT * FROM ${toolCalls} WHERE workspace_id = ${opaqueWorkspaceId(change.workspaceId)} AND response_key = k.response_key OFFSET 0
      ) AS c ON true
      WHERE NOT ${isReplaced(change, 'c', 'call')}`);
  return rows;
}

async function flipOwnCalls(transaction: Database, change: UsageChange, calls: readonly CallCopy[]): Promise<void> {
  if (calls.length === 0) return;
  await transaction.execute(sql`
      UPDATE ${toolCalls} AS c SET is_own = NOT c.is_own
      FROM unnest(${sql.param(calls.map(({ row_set_id }) => row_set_id))}::text[],
        ${sql.param(calls.map(({ call_number }) => call_number))}::int[]) AS k(row_set_id, call_number)
      WHERE c.workspace_id = ${opaqueWorkspaceId(change.workspaceId)} AND c.row_set_id = k.row_set_id AND c.call_number = k.call_number`);
}
