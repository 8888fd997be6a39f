import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { TouchedFindings } from '../findings/finding-scope.ts';
import { IS_CALL_FAILED, IS_CALL_REPEATED, IS_ERROR_REPEATED } from '../findings/select-repeats.ts';
import { toolCalls, usageEntries } from '../schema/usage.ts';
import { isInvolved, type UsageChange } from '../transcripts/replaced-usage.ts';
import { BUCKET_START } from '../usage/rollup-definitions.ts';
import { MAX_TOUCHED_BUCKETS } from './growth-collector.ts';

/**
 * The number of closed responses that the parser recognises. In a transcript with more, one response may have several
 * entries with different times, and only all entries together show which one counts.
 */
const MAX_SINGLE_ENTRIES = 200_000;

/** Maximum number of files of touched calls; above this, all findings of the session are rebuilt. */
const MAX_TOUCHED_FILES = 1000;

/**
 * The number of calls that the parser can distinguish from copies. In a transcript with more, one key may belong to two
 * calls.
 */
const MAX_SINGLE_CALLS = 50_000;

/**
 * The number of lines before the first touched call that are searched for the end of a run. A longer run is rebuilt
 * together with everything before it.
 */
const MAX_LINES_BEFORE = 1000;

/** Everything that the growth of a session can have affected; everything else derived from its rows remains valid. */
export interface TouchedRows {
  /** Starts of 15-minute buckets, milliseconds since 1970, for roll-ups. */
  buckets: number[];
  /** Undefined means all. */
  findings: TouchedFindings | undefined;
}

/**
 * Finds what a change of a session affects; undefined, meaning everything, unless the session only grew. To be called
 * once the ledger is settled, and before replaced rows are deleted.
 *
 * Affected are all entries and calls that were added or removed, and everything that the session has of the same
 * responses, because a different copy may now count, or be credited elsewhere. For findings, also calls whose texts
 * were added.
 */
export async function findTouchedRows(transaction: Database, change: UsageChange): Promise<TouchedRows | undefined> {
  const [written, another] = change.written;
  const isOneSession = change.sessionIds.length === 1 && change.removedRowSetIds.length === 0;
  if (written?.messageBuckets === undefined || another !== undefined || !isOneSession) return undefined;
  const { rowSetId, firstNewNumbers, messageBuckets, toolIdsOfTexts } = written;
  if (firstNewNumbers.entry > MAX_SINGLE_ENTRIES) return undefined;
  const { rows } = await transaction.execute<FoundRows>(selectTouchedRows(change, rowSetId, toolIdsOfTexts ?? []));
  const [found] = rows;
  if (found === undefined) return undefined;
  const buckets = new Set([...messageBuckets, ...found.buckets]);
  if (buckets.size > MAX_TOUCHED_BUCKETS) return undefined;
  const isKnown =
    toolIdsOfTexts !== undefined && firstNewNumbers.call <= MAX_SINGLE_CALLS && found.file_count <= MAX_TOUCHED_FILES;
  return { buckets: [...buckets], findings: isKnown ? toTouchedFindings(rowSetId, found) : undefined };
}

type FoundRows = {
  buckets: number[];
  first_response_ms: number | null;
  first_call_line: number | null;
  first_main_line: number | null;
  first_subagent_line: number | null;
  file_count: number;
  first_lines: Record<string, number>;
};

function toTouchedFindings(rowSetId: string, found: FoundRows): TouchedFindings {
  const calls = found.first_call_line !== null && {
    firstMainLine: found.first_main_line ?? 0,
    firstSubagentLine: found.first_subagent_line ?? 0,
    firstLineByFile: found.first_lines,
  };
  return { rowSetId, firstResponseMs: found.first_response_ms, calls: calls || null };
}

/** One row of FoundRows. Rows are looked up one by one, because few of a session's responses and calls are involved. */
function selectTouchedRows(change: UsageChange, rowSetId: string, toolIdsOfTexts: readonly string[]): SQL {
  const workspace = opaqueWorkspaceId(change.workspaceId);
  const ofTexts = sql`
      UNION ALL
      SELECT c."timestamp", c.line_number, c.file_path FROM ${toolCalls} AS c
      WHERE c.workspace_id = ${workspace} AND c.row_set_id = ${rowSetId}
        AND split_part(c.call_key, '/', -1) = ANY(${sql.param([...toolIdsOfTexts])}::text[])`;
  return sql`
    WITH response AS MATERIALIZED (
      SELECT DISTINCT agent, response_key FROM ${usageEntries} AS e WHERE ${isInvolved(change, 'e', 'entry')}
    ), entry AS MATERIALIZED (
      SELECT e."timestamp" FROM response AS r JOIN LATERAL (
        SELECT * FROM ${usageEntries}
        WHERE workspace_id = ${workspace} AND agent = r.agent AND response_key = r.response_key OFFSET 0
      ) AS e ON e.row_set_id = ${rowSetId}
      WHERE e."timestamp" IS NOT NULL
    ), call AS MATERIALIZED (
      SELECT c."timestamp", c.line_number, c.file_path FROM response AS r JOIN LATERAL (
        SELECT * FROM ${toolCalls} WHERE workspace_id = ${workspace} AND response_key = r.response_key OFFSET 0
      ) AS c ON c.row_set_id = ${rowSetId}
      UNION ALL
      SELECT c."timestamp", c.line_number, c.file_path FROM ${toolCalls} AS c WHERE ${isInvolved(change, 'c', 'call')}
      ${toolIdsOfTexts.length > 0 ? ofTexts : sql``}
    ), first_call AS MATERIALIZED (
      SELECT min(line_number) AS line_number FROM call
    ), file AS MATERIALIZED (
      SELECT DISTINCT file_path FROM call WHERE file_path IS NOT NULL LIMIT ${MAX_TOUCHED_FILES + 1}
    ), earlier AS MATERIALIZED (
      SELECT * FROM ${toolCalls} AS c
      WHERE c.workspace_id = ${workspace} AND c.row_set_id = ${rowSetId} AND c.is_own
        AND c.line_number < (SELECT line_number FROM first_call) AND (
          c.line_number >= (SELECT line_number FROM first_call) - ${MAX_LINES_BEFORE}::int
          OR c.tool_kind IN ('read', 'edit') AND c.file_path = ANY(ARRAY(SELECT file_path FROM file)))
    ), edit AS MATERIALIZED (
      -- Of a line with several calls of the file, some come before the edit.
      SELECT file_path, line_number FROM earlier AS c WHERE tool_kind IN ('read', 'edit') AND file_path IS NOT NULL
      GROUP BY file_path, line_number
      HAVING count(*) = 1 AND bool_and(tool_kind = 'edit' AND NOT ${IS_CALL_FAILED})
    ), line_before AS MATERIALIZED (
      -- The last line before the touched calls that begins with a call unlike the one before: no run goes over it.
      SELECT max(line_number) FILTER (WHERE NOT is_subagent) AS main, max(line_number) FILTER (WHERE is_subagent) AS subagent
      FROM (
        SELECT c.is_subagent, c.line_number, c.line_number > lag(c.line_number) OVER conversation
          AND NOT ${IS_CALL_REPEATED} AND NOT ${IS_ERROR_REPEATED} AS is_unlike
        FROM earlier AS c WHERE c.line_number >= (SELECT line_number FROM first_call) - ${MAX_LINES_BEFORE}::int
        WINDOW conversation AS (PARTITION BY c.is_subagent ORDER BY c.line_number, c.call_number)
      ) AS before WHERE is_unlike
    )
    SELECT
      ARRAY(
        SELECT DISTINCT (extract(epoch FROM ${BUCKET_START}) * 1000)::float8
        FROM (SELECT "timestamp" FROM entry UNION ALL SELECT "timestamp" FROM call) AS touched
        WHERE "timestamp" IS NOT NULL LIMIT ${MAX_TOUCHED_BUCKETS + 1}
      ) AS buckets,
      (SELECT (extract(epoch FROM min("timestamp")) * 1000)::float8 FROM entry) AS first_response_ms,
      first_call.line_number AS first_call_line, main AS first_main_line, subagent AS first_subagent_line,
      (SELECT count(*)::int FROM file) AS file_count,
      (
        SELECT coalesce(jsonb_object_agg(file_path, first_line), '{}') FROM (
          SELECT file.file_path, coalesce(max(edit.line_number), 0) AS first_line
          FROM file LEFT JOIN edit ON edit.file_path = file.file_path GROUP BY file.file_path
        ) AS known
      ) AS first_lines
    FROM first_call CROSS JOIN line_before`;
}
