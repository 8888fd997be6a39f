import { bigint, boolean, index, integer, text } from '../drizzle.cjs';
import { identifier, isoTimestamp, recountSchema, tokens, usd } from './column-types.ts';

/** Kinds of findings that are stored. All others are computed from sessions' costs and the sizes of results. */
export type StoredFindingKind =
  | 'repeated-call'
  | 'repeated-error'
  | 'repeated-read'
  | 'cold-cache'
  | 'unfinished-session';

/**
 * Potential waste of sessions, one row for each finding; derived from tool calls, their texts, the ledger and the
 * sessions.
 */
export const findings = recountSchema.table(
  'findings',
  {
    workspace_id: identifier().notNull(),
    session_id: identifier().notNull(),
    row_set_id: identifier().notNull(),
    kind: text().$type<StoredFindingKind>().notNull(),
    is_subagent: boolean().notNull(),
    model: text(),
    /** The branch of the response; null for findings about other things. */
    git_branch: text(),
    /** Time of the first call, of the response after the pause, or of the last activity. */
    timestamp: isoTimestamp(),
    message_id: identifier(),
    line_number: integer(),
    tool_name: text(),
    subject: text(),
    times: integer().notNull(),
    /** Bytes of the repeats' results. */
    output_bytes: tokens(),
    /** Tokens written to the cache again, or used by the whole session. */
    tokens: tokens(),
    pause_ms: bigint({ mode: 'number' }),
    /** Responses that made the repeats; null if `cost_usd` states what the finding cost. */
    response_keys: text().array(),
    cost_usd: usd(),
  },
  (table) => [
    index('findings_session').on(table.workspace_id, table.session_id),
    index('findings_kind_time').on(table.workspace_id, table.kind, table.timestamp),
  ],
);
