import { getTableColumns, type SQL, sql } from '../drizzle.cjs';
import { COPY_COMPARISON, DISAGREEMENT, DISAGREEMENT_COLUMNS } from '../transcripts/copy-disagreement.ts';
import { transcripts } from '../transcripts/schema.ts';
import { usageEntries, usageLedger } from './schema.ts';

export const ORIGIN_COLUMNS = [
  'session_id',
  'row_set_id',
  'message_id',
  'source',
  'timestamp',
  'is_subagent',
  'agent_id',
  'git_branch',
  'agent_version',
] as const satisfies readonly (keyof typeof usageLedger.$inferSelect)[];
export const KEY_COLUMNS = ['workspace_id', 'agent', 'response_key'];
/** What the ledger tells of all copies of a response. */
export const COPY_COLUMNS = ['copy_count', ...DISAGREEMENT_COLUMNS];
const OTHER_COLUMNS: readonly string[] = [...KEY_COLUMNS, ...ORIGIN_COLUMNS, ...COPY_COLUMNS];
export const FIGURE_COLUMNS = Object.keys(getTableColumns(usageLedger)).filter((name) => !OTHER_COLUMNS.includes(name));

/** Names of columns in SQL, made of each by `toSql`. */
export const list = (columns: readonly string[], toSql: (column: string) => string) =>
  sql.raw(columns.map((column) => toSql(`"${column}"`)).join(', '));

/**
 * Order in which copies of a response are credited: the earliest first. Copies mostly keep the time of the original,
 * which the further keys then tell from them; none depends on when something was uploaded. Copies in a stream, which
 * have times of their own, follow those in session files. `e` is the entry, `t` its transcript.
 */
export const CREDIT_ORDER = sql.raw(
  `e.source = 'progress', t.is_stream, e."timestamp" NULLS LAST, e.is_marked_copy, e.is_subagent,
   t.first_timestamp NULLS LAST, e.session_id, t.size_bytes DESC, t.sha256, e.entry_number`,
);

/** Whether of the copies of a tool call this one counts: `c` is the call, `e` the entry of its response in its transcript `t`. */
export const IS_CREDITED_CALL = sql`row_number() OVER (
  PARTITION BY e.agent, e.response_key, c.call_key ORDER BY ${CREDIT_ORDER}, c.call_number) = 1`;

/** The copy that was written last, when the response was complete, has the final figures. */
export const FIGURE_ORDER = sql.raw(
  `e.is_unfinalised, e.tokens_out DESC, e.tokens_in + e.cache_read + e.cache_write DESC, e.web_search_requests DESC,
   e.cost_usd NULLS LAST`,
);

/**
 * The ledger by its definition: a row for each response of the entries `e` with their transcripts `t` that `from` gives and
 * `where` admits, with all of the ledger's columns.
 */
export function selectLedgerRows(from: SQL, where: SQL): SQL {
  return sql`
    SELECT ${list([...KEY_COLUMNS, ...ORIGIN_COLUMNS], (name) => name)},
      ${list(FIGURE_COLUMNS, (name) => `(final).${name} AS ${name}`)},
      copy_count::int AS copy_count, ${DISAGREEMENT}
    FROM (
      SELECT DISTINCT ON (e.agent, e.response_key) e.*,
        first_value(e) OVER (response ORDER BY ${FIGURE_ORDER}, ${CREDIT_ORDER}) AS final,
        count(*) OVER response AS copy_count, ${COPY_COMPARISON}
      FROM ${from}
      WHERE ${where}
      WINDOW response AS (PARTITION BY e.agent, e.response_key)
      ORDER BY e.agent, e.response_key, ${CREDIT_ORDER}
    ) AS response`;
}

/** Entries as `e` with their transcripts as `t`, for `selectLedgerRows`. */
export const ALL_ENTRIES = sql`
  ${usageEntries} AS e JOIN ${transcripts} AS t ON t.workspace_id = e.workspace_id AND t.row_set_id = e.row_set_id`;
