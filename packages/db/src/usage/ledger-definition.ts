import {
  CREDIT_ORDER as CREDIT_RULES,
  type CreditFact,
  DISAGREEMENT_RULES,
  type DisagreementRule,
  FIGURE_ORDER as FIGURE_RULES,
  type FigureFact,
  MAX_COMPLETED_TOKENS_OUT,
  MAX_COPY_TIME_APART_MS,
  MAX_PLACEHOLDER_TOKENS_OUT,
  type OrderKey,
  UNKNOWN_MODEL,
} from '@recount/core';
import { getTableColumns, type SQL, sql } from '../drizzle.cjs';
import { listColumns } from '../schema/list-columns.ts';
import { transcripts } from '../schema/transcripts.ts';
import { DISAGREEMENTS, usageEntries, usageLedger } from '../schema/usage.ts';

/** Columns of the ledger that show disagreement. All are null if the copies agree. */
const DISAGREEMENT_COLUMNS = ['disagreements', 'lowest_cost_usd', 'highest_cost_usd'];

const MAX_TIME_APART = sql.raw(`interval '${MAX_COPY_TIME_APART_MS} milliseconds'`);

/**
 * True if a more complete copy overrides this copy's output count. Streams keep placeholders that are too small to be
 * told from short answers on their own.
 */
const IS_PLACEHOLDER = sql.raw(`(e.is_unfinalised OR (t.is_stream AND e.tokens_out <= ${MAX_PLACEHOLDER_TOKENS_OUT}))`);

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

const FILTERS = { all: sql``, placeholders: ofPlaceholders, finals: ofFinals };

/** True if the copies of a response break one of the rules. */
function breaks({ copies, fields, maxSpread }: DisagreementRule): SQL {
  const columns = sql.raw(fields.map((field) => `e.${field}`).join(', '));
  if (maxSpread === undefined) return differs(sql`ARRAY[${columns}]`, FILTERS[copies]);
  return sql`${over('max', columns, FILTERS[copies])} - ${over('min', columns, FILTERS[copies])} > ${sql.raw(`${maxSpread}`)}`;
}

const DO_FIGURES_DIFFER = sql`(
  ${sql.join(DISAGREEMENT_RULES.map(breaks), sql` OR `)}
  OR ${over('max', TOKENS_OUT, ofPlaceholders)} > ${over('min', TOKENS_OUT, ofFinals)}
  OR count(*) ${ofPlaceholders} OVER response > 0
    AND ${over('max', TOKENS_OUT, ofFinals)} > ${sql.raw(`${MAX_COMPLETED_TOKENS_OUT}`)})`;

/** Copies in streams have the times of their arrival. */
const DO_TIMES_DIFFER = sql`
  ${over('max', sql.raw('e."timestamp"'), sql.raw(`FILTER (WHERE NOT t.is_stream)`))}
  - ${over('min', sql.raw('e."timestamp"'), sql.raw(`FILTER (WHERE NOT t.is_stream)`))} > ${MAX_TIME_APART}`;

/**
 * The comparison of a response's copies, computed over a window `response` of its entries `e` and their transcripts
 * `t`; depends only on these. The lowest cost comes from a final copy if there is one.
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
  'turn_line',
] as const satisfies readonly (keyof typeof usageLedger.$inferSelect)[];
export const KEY_COLUMNS = ['workspace_id', 'agent', 'response_key'];
/** The ledger's facts about all copies of a response. */
export const COPY_COLUMNS = ['copy_count', ...DISAGREEMENT_COLUMNS];
const OTHER_COLUMNS: readonly string[] = [...KEY_COLUMNS, ...ORIGIN_COLUMNS, ...COPY_COLUMNS];
export const FIGURE_COLUMNS = Object.keys(getTableColumns(usageLedger)).filter((name) => !OTHER_COLUMNS.includes(name));

/** The facts about an entry `e` and its transcript `t`. */
const CREDIT_FACTS: Readonly<Record<CreditFact, string>> = {
  isProgress: "e.source = 'progress'",
  isStream: 't.is_stream',
  timestamp: 'e."timestamp"',
  isMarkedCopy: 'e.is_marked_copy',
  isSubagent: 'e.is_subagent',
  firstTimestamp: 't.first_timestamp',
  sessionId: 'e.session_id',
  sizeBytes: 't.size_bytes',
  file: 't.sha256',
  entryNumber: 'e.entry_number',
};

const FIGURE_FACTS: Readonly<Record<FigureFact, string>> = {
  isUnfinalised: 'e.is_unfinalised',
  outputTokens: 'e.tokens_out',
  inputTokens: 'e.tokens_in + e.cache_read + e.cache_write',
  webSearchRequests: 'e.web_search_requests',
  isModelUnknown: `coalesce(e.model = '${UNKNOWN_MODEL}', false)`,
  costUsd: 'e.cost_usd',
};

const toOrder = <Fact extends string>(order: readonly OrderKey<Fact>[], facts: Readonly<Record<Fact, string>>): SQL =>
  sql.raw(order.map(({ fact, isDescending }) => `${facts[fact]}${isDescending ? ' DESC' : ''} NULLS LAST`).join(', '));

/** Order of credit for the copies of a response, over entries `e` and their transcripts `t`. */
export const CREDIT_ORDER = toOrder(CREDIT_RULES, CREDIT_FACTS);

/** True if this copy of a tool call counts. `c` is the call, `e` the entry of its response in its transcript `t`. */
export const IS_CREDITED_CALL = sql`row_number() OVER (
  PARTITION BY e.agent, e.response_key, c.call_key ORDER BY ${CREDIT_ORDER}, c.call_number) = 1`;

/** Order of the copies that give a response its figures, over entries `e`. `CREDIT_ORDER` breaks ties. */
export const FIGURE_ORDER = toOrder(FIGURE_RULES, FIGURE_FACTS);

/**
 * The ledger by its definition, with one row, with all of the ledger's columns, for each response of the entries `e`
 * and their transcripts `t` that `from` provides and `where` admits.
 */
export function selectLedgerRows(from: SQL, where: SQL): SQL {
  return sql`
    SELECT ${listColumns([...KEY_COLUMNS, ...ORIGIN_COLUMNS], (name) => name)},
      ${listColumns(FIGURE_COLUMNS, (name) => `(final).${name} AS ${name}`)},
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

/** Usage entries for `selectLedgerRows`, with their columns, and as `whole` all columns in one value. */
const selectEntries = (where: SQL): SQL =>
  sql`SELECT entry.*, entry AS whole FROM ${usageEntries} AS entry WHERE ${where}`;

/** Entries as `e` with their transcripts as `t`, for `selectLedgerRows`. */
export const ALL_ENTRIES = sql`
  (${selectEntries(sql`true`)}) AS e
  JOIN ${transcripts} AS t ON t.workspace_id = e.workspace_id AND t.row_set_id = e.row_set_id`;
