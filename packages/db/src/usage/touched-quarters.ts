import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { toHiddenWorkspace } from '../planner.ts';
import { isInvolved, type UsageChange } from './replaced-usage.ts';
import { toolCalls, usageEntries } from './schema.ts';
import { BUCKET_START } from './write-rollups.ts';

const QUARTER_MS = 15 * 60_000;

/** Of more, all roll-ups of the session are made again. */
const MAX_TOUCHED_QUARTERS = 200;

/**
 * The parser recognises late lines of as many responses; of a transcript with more, one may have several entries at several
 * times, and which of them counts is known only from all of them.
 */
const MAX_SINGLE_ENTRIES = 200_000;

interface QuarterSet {
  /** Takes a time, milliseconds since 1970. */
  add(timeMs: number): void;
  /** Beginnings of the quarters of an hour, milliseconds since 1970; undefined if they are more than 200. */
  toQuarters(): number[] | undefined;
}

/** The quarters of an hour that times lie in. */
export function createQuarterSet(): QuarterSet {
  const quarters = new Set<number>();
  return {
    add(timeMs) {
      if (quarters.size <= MAX_TOUCHED_QUARTERS) quarters.add(timeMs - (timeMs % QUARTER_MS));
    },
    toQuarters: () => (quarters.size > MAX_TOUCHED_QUARTERS ? undefined : [...quarters]),
  };
}

/**
 * The quarters of an hour outside which the roll-ups of the change's session stay what they are, as beginnings in milliseconds
 * since 1970. Undefined where that is not known: only of a session that merely grew it is. To be called once the
 * ledger is settled, and before what the change replaces is deleted.
 *
 * They are those of all entries and calls that came or go, and of all that the session has of the same responses: which of them
 * counts, and where it is credited, may have changed.
 */
export async function findTouchedQuarters(transaction: Database, change: UsageChange): Promise<number[] | undefined> {
  const [written, another] = change.written;
  const isOneSession = change.sessionIds.length === 1 && change.removedRowSetIds.length === 0;
  if (written?.messageQuarters === undefined || another !== undefined || !isOneSession) return undefined;
  const { rowSetId, firstNumbers, messageQuarters } = written;
  if (firstNumbers.entry > MAX_SINGLE_ENTRIES) return undefined;
  const workspace = toHiddenWorkspace(change.workspaceId);
  // Looked up one by one: few of a session's responses and calls are involved.
  const { rows } = await transaction.execute<{ quarter_ms: number }>(sql`
    WITH response AS MATERIALIZED (
      SELECT DISTINCT agent, response_key FROM ${usageEntries} AS e WHERE ${isInvolved(change, 'e', 'entry')}
    ), touched AS (
      SELECT e."timestamp" FROM response AS r JOIN LATERAL (
        SELECT * FROM ${usageEntries}
        WHERE workspace_id = ${workspace} AND agent = r.agent AND response_key = r.response_key OFFSET 0
      ) AS e ON e.row_set_id = ${rowSetId}
      UNION ALL
      SELECT c."timestamp" FROM response AS r JOIN LATERAL (
        SELECT * FROM ${toolCalls} WHERE workspace_id = ${workspace} AND response_key = r.response_key OFFSET 0
      ) AS c ON c.row_set_id = ${rowSetId}
      UNION ALL
      SELECT c."timestamp" FROM ${toolCalls} AS c WHERE ${isInvolved(change, 'c', 'call')}
    )
    SELECT DISTINCT (extract(epoch FROM ${BUCKET_START}) * 1000)::float8 AS quarter_ms
    FROM touched WHERE "timestamp" IS NOT NULL LIMIT ${MAX_TOUCHED_QUARTERS + 1}`);
  const quarters = new Set([...messageQuarters, ...rows.map(({ quarter_ms }) => quarter_ms)]);
  return quarters.size > MAX_TOUCHED_QUARTERS ? undefined : [...quarters];
}
