import { UNKNOWN_MODEL } from '@recount/core';
import { getTableColumns, type SQL, sql } from '../drizzle.cjs';
import { transcripts } from '../transcripts/schema.ts';
import { DISAGREEMENTS, usageEntries, usageLedger } from './schema.ts';

/** Columns of the ledger that show disagreement. All are null if the copies agree. */
const DISAGREEMENT_COLUMNS = ['disagreements', 'lowest_cost_usd', 'highest_cost_usd'];

/**
 * Copies keep the original's time, or have that of another line of the same response. In the test corpus those are at
 * most 108 s apart, and requests time out after 10 minutes.
 */
const MAX_TIME_APART = sql.raw(`interval '15 minutes'`);

/** Maximum output of a streaming placeholder; the largest in the test corpus is 91. */
const MAX_PLACEHOLDER_TOKENS_OUT = 128;

/**
 * Maximum plausible output of a response of which another copy has a placeholder. No model writes more in a response.
 */
const MAX_COMPLETED_TOKENS_OUT = 200_000;

/** A copy that ends before the results of its searches lacks their count. */
const MAX_MISSING_SEARCHES = 20;

/**
 * Whether a more complete copy overrides this copy's output count. Streams keep placeholders that are too small to be
 * told from short answers on their own.
 */
const IS_PLACEHOLDER = sql.raw(`(e.is_unfinalised OR (t.is_stream AND e.tokens_out <= ${MAX_PLACEHOLDER_TOKENS_OUT}))`);

/** Input is known before the first output token, so even a placeholder's is right. */
const INPUT = sql.raw('ARRAY[e.tokens_in, e.cache_read, e.cache_write, e.cache_write_1h]');
const TERMS = sql.raw('ARRAY[e.service_tier, e.speed, e.inference_geo]');

/** Compares arrays because null must count as a value different from all others. */
const differs = (value: SQL, filter: SQL = sql``): SQL =>
  sql`min(${value}) ${filter} OVER response <> max(${value}) ${filter} OVER response`;

/** Copies that do not name the model contradict no copy that does. */
const ofNamedModels = sql.raw(`FILTER (WHERE e.model IS DISTINCT FROM '${UNKNOWN_MODEL}')`);
const ofPlaceholders = sql`FILTER (WHERE ${IS_PLACEHOLDER})`;
const ofFinals = sql`FILTER (WHERE NOT ${IS_PLACEHOLDER})`;
const TOKENS_OUT = sql.raw('e.tokens_out');
const over = (aggregate: 'min' | 'max', value: SQL, filter: SQL = sql``): SQL =>
  sql`${sql.raw(aggregate)}(${value}) ${filter} OVER response`;

const DO_FIGURES_DIFFER = sql`(
  ${differs(INPUT)}
  OR ${differs(TERMS, ofPlaceholders)}
  OR ${differs(TERMS, ofFinals)}
  OR ${over('max', sql.raw('e.web_search_requests'))} - ${over('min', sql.raw('e.web_search_requests'))} > ${sql.raw(`${MAX_MISSING_SEARCHES}`)}
  OR ${differs(TOKENS_OUT, ofFinals)}
  OR ${over('max', TOKENS_OUT, ofPlaceholders)} > ${over('min', TOKENS_OUT, ofFinals)}
  OR ${over('max', TOKENS_OUT, ofPlaceholders)} - ${over('min', TOKENS_OUT, ofPlaceholders)} > ${sql.raw(`${MAX_PLACEHOLDER_TOKENS_OUT}`)}
  OR count(*) ${ofPlaceholders} OVER response > 0
    AND ${over('max', TOKENS_OUT, ofFinals)} > ${sql.raw(`${MAX_COMPLETED_TOKENS_OUT}`)})`;

/** Copies in streams have the times of their arrival. */
const DO_TIMES_DIFFER = sql`
  ${over('max', sql.raw('e."timestamp"'), sql.raw(`FILTER (WHERE NOT t.is_stream)`))}
  - ${over('min', sql.raw('e."timestamp"'), sql.raw(`FILTER (WHERE NOT t.is_stream)`))} > ${MAX_TIME_APART}`;

/**
 * How the copies of a response compare, computed over a window `response` of its entries `e` and their transcripts `t`;
 * depends only on these. The lowest cost is that of a final copy if there is one.
 */
const COPY_COMPARISON = sql`
  coalesce(${differs(sql.raw('ARRAY[e.model]'), ofNamedModels)}, false) AS is_model_disputed,
  ${DO_TIMES_DIFFER} AS is_time_disputed,
  ${DO_FIGURES_DIFFER} AS is_figures_disputed,
  coalesce(${over('min', sql.raw('e.cost_usd'), ofFinals)}, ${over('min', sql.raw('e.cost_usd'))}) AS lowest_copy_cost,
  ${over('max', sql.raw('e.cost_usd'))} AS highest_copy_cost`;

const IS_DISPUTED = sql.raw(DISAGREEMENTS.map((name) => `is_${name}_disputed`).join(' OR '));

/** The ledger's DISAGREEMENT_COLUMNS, for rows that have the columns of COPY_COMPARISON. */
const DISAGREEMENT = sql`
  CASE WHEN ${IS_DISPUTED} THEN array_remove(ARRAY[${sql.raw(
    DISAGREEMENTS.map((name) => `CASE WHEN is_${name}_disputed THEN '${name}' END`).join(', '),
  )}], NULL) END AS disagreements,
  CASE WHEN ${IS_DISPUTED} THEN lowest_copy_cost END AS lowest_cost_usd,
  CASE WHEN ${IS_DISPUTED} THEN highest_copy_cost END AS highest_cost_usd`;

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
/** What the ledger says about all copies of a response. */
export const COPY_COLUMNS = ['copy_count', ...DISAGREEMENT_COLUMNS];
const OTHER_COLUMNS: readonly string[] = [...KEY_COLUMNS, ...ORIGIN_COLUMNS, ...COPY_COLUMNS];
export const FIGURE_COLUMNS = Object.keys(getTableColumns(usageLedger)).filter((name) => !OTHER_COLUMNS.includes(name));

/** Names of columns in SQL, each converted by `toSql`. */
export const list = (columns: readonly string[], toSql: (column: string) => string) =>
  sql.raw(columns.map((column) => toSql(`"${column}"`)).join(', '));

/**
 * Order in which copies of a response are credited: earliest first. Copies usually keep the original's time; the
 * further keys then decide. None depends on when something was uploaded. Copies in a stream, which have times of their
 * own, come after those in session files. `e` is the entry, `t` its transcript.
 */
export const CREDIT_ORDER = sql.raw(
  `e.source = 'progress', t.is_stream, e."timestamp" NULLS LAST, e.is_marked_copy, e.is_subagent,
   t.first_timestamp NULLS LAST, e.session_id, t.size_bytes DESC, t.sha256, e.entry_number`,
);

/**
 * Whether this copy of a tool call is the one that counts: `c` is the call, `e` the entry of its response in its
 * transcript `t`.
 */
export const IS_CREDITED_CALL = sql`row_number() OVER (
  PARTITION BY e.agent, e.response_key, c.call_key ORDER BY ${CREDIT_ORDER}, c.call_number) = 1`;

/** The copy written last, when the response was complete, has the final figures. One that names the model is better. */
export const FIGURE_ORDER = sql.raw(
  `e.is_unfinalised, e.tokens_out DESC, e.tokens_in + e.cache_read + e.cache_write DESC, e.web_search_requests DESC,
   coalesce(e.model = '${UNKNOWN_MODEL}', false), e.cost_usd NULLS LAST`,
);

/**
 * The ledger by its definition: one row, with all of the ledger's columns, for each response of the entries `e` and
 * their transcripts `t` that `from` provides and `where` admits.
 */
export function selectLedgerRows(from: SQL, where: SQL): SQL {
  return sql`
    SELECT ${list([...KEY_COLUMNS, ...ORIGIN_COLUMNS], (name) => name)},
      ${list(FIGURE_COLUMNS, (name) => `(final).${name} AS ${name}`)},
      copy_count::int AS copy_count, ${DISAGREEMENT}
    FROM (
      SELECT DISTINCT ON (e.agent, e.response_key) e.*,
        first_value(e.whole) OVER (response ORDER BY ${FIGURE_ORDER}, ${CREDIT_ORDER}) AS final,
        count(*) OVER response AS copy_count, ${COPY_COMPARISON}
      FROM ${from}
      WHERE ${where}
      WINDOW response AS (PARTITION BY e.agent, e.response_key)
      ORDER BY e.agent, e.response_key, ${CREDIT_ORDER}
    ) AS response`;
}

/** Usage entries for `selectLedgerRows`: their columns, and as `whole` all of them in one value. */
export const selectEntries = (where: SQL): SQL =>
  sql`SELECT entry.*, entry AS whole FROM ${usageEntries} AS entry WHERE ${where}`;

/** Entries as `e` with their transcripts as `t`, for `selectLedgerRows`. */
export const ALL_ENTRIES = sql`
  (${selectEntries(sql`true`)}) AS e
  JOIN ${transcripts} AS t ON t.workspace_id = e.workspace_id AND t.row_set_id = e.row_set_id`;
