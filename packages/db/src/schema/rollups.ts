import type { KindOfWork, ToolKind, UsageSums } from '@recount/core';
import { type AnyPgColumn, boolean, index, integer, numeric, type SQL, sql, text } from '../drizzle.cjs';
import { bytes, identifier, isoTimestamp, recountSchema, tokens } from './column-types.ts';
import { COST_UNIT_COLUMNS, SUMMED_TOKENS, toColumns } from './usage-columns.ts';

/** Start of a 15-minute bucket. The offsets of all time zones are multiples of it. */
const bucketStart = () => ({ bucket_start: isoTimestamp() });

/** First and last of the 15-minute buckets, within one UTC day, that a row sums. */
const daySpan = () => ({ first_bucket_start: isoTimestamp(), last_bucket_start: isoTimestamp() });

const rollupSession = () => ({ workspace_id: identifier().notNull(), session_id: identifier().notNull() });

export const usageKey = () => ({
  model: text(),
  is_subagent: boolean().notNull(),
  agent_id: text(),
  git_branch: text(),
  agent_version: text(),
  /** The kind of the turn in the session's own transcript. */
  kind_of_work: text().$type<KindOfWork>().notNull().default('unknown'),
  /** Held by the session, credited to another one. */
  is_shared: boolean().notNull(),
});

/** The part of the key that reports of a whole workspace need. */
export const usageTotalKey = () => {
  const { model, is_subagent, is_shared } = usageKey();
  return { model, is_subagent, is_shared };
};

/**
 * In units of 1e-10 dollars, for responses that have a price. Not bigint, because a 15-minute bucket could exceed it.
 */
const costUnits = () => numeric().notNull().default('0');

/**
 * The others are sums of figures that packages/core bounds: 1e8 tokens, 30 days or 1000 searches each. A bigint holds
 * more of them than `responses` and `calls` can count.
 */
export const usageSums = () =>
  ({
    responses: integer().notNull(),
    ...toColumns([...SUMMED_TOKENS, 'web_search_requests'], tokens),
    ...toColumns(COST_UNIT_COLUMNS, costUnits),
    unfinalised_responses: integer().notNull(),
    unfinalised_tokens_out: tokens(),
    estimated_tokens_out: tokens(),
    unpriced_responses: integer().notNull(),
    unpriced_tokens: tokens(),
    default_priced_responses: integer().notNull(),
  }) satisfies Record<keyof UsageSums, unknown>;

/** Sums of the ledger by session and 15-minute bucket. */
export const usageRollup = recountSchema.table(
  'usage_rollup',
  { ...rollupSession(), ...bucketStart(), ...usageKey(), ...usageSums() },
  (table) => [
    index('usage_rollup_session').on(table.workspace_id, table.session_id),
    index('usage_rollup_time').on(table.workspace_id, table.bucket_start, table.session_id),
  ],
);

/** Sums of usage_rollup by session and UTC day. */
export const usageDayRollup = recountSchema.table(
  'usage_day_rollup',
  { ...rollupSession(), ...daySpan(), ...usageKey(), ...usageSums() },
  (table) => [
    index('usage_day_rollup_session').on(table.workspace_id, table.session_id),
    index('usage_day_rollup_time').on(table.workspace_id, table.first_bucket_start),
    // For listing the names that a workspace has.
    index('usage_day_rollup_model').on(table.workspace_id, table.model),
    index('usage_day_rollup_branch').on(table.workspace_id, table.git_branch),
  ],
);

export const messageKey = () => ({ is_subagent: boolean().notNull() });
export const messageSums = () => ({ messages: integer().notNull(), user_messages: integer().notNull() });

/** Messages of a session's primary transcript by 15-minute bucket. */
export const messageRollup = recountSchema.table(
  'message_rollup',
  { ...rollupSession(), ...bucketStart(), model: text(), ...messageKey(), ...messageSums() },
  (table) => [
    index('message_rollup_session').on(table.workspace_id, table.session_id),
    index('message_rollup_time').on(table.workspace_id, table.bucket_start),
  ],
);

/** Sums of message_rollup by session and UTC day, over all models. */
export const messageDayRollup = recountSchema.table(
  'message_day_rollup',
  { ...rollupSession(), ...daySpan(), ...messageKey(), ...messageSums() },
  (table) => [
    index('message_day_rollup_session').on(table.workspace_id, table.session_id),
    index('message_day_rollup_time').on(table.workspace_id, table.first_bucket_start),
  ],
);

export const toolKey = () => ({
  model: text(),
  is_subagent: boolean().notNull(),
  tool_name: text().notNull(),
  tool_kind: text().$type<ToolKind>().notNull(),
  mcp_server: text(),
  program: text(),
  subagent_type: text(),
  skill_name: text(),
});

export const toolSums = () => ({
  calls: integer().notNull(),
  results: integer().notNull(),
  errors: integer().notNull(),
  denied: integer().notNull(),
  input_bytes: tokens(),
  output_bytes: tokens(),
  duration_ms: tokens(),
  timed_calls: integer().notNull(),
});

/**
 * Durations of the timed calls in milliseconds, as unsigned 6-byte big-endian integers, because percentiles cannot be
 * computed from sums.
 */
export const toolLists = () => ({ durations: bytes().notNull() });

/** Tool calls that count, by session, UTC day, tool, and the call's subject if it is one of a few. */
export const toolDayRollup = recountSchema.table(
  'tool_day_rollup',
  { ...rollupSession(), ...daySpan(), ...toolKey(), ...toolSums(), ...toolLists() },
  (table) => [
    index('tool_day_rollup_session').on(table.workspace_id, table.session_id),
    index('tool_day_rollup_time').on(table.workspace_id, table.first_bucket_start),
    // For lists of sessions that called a tool or program.
    index('tool_day_rollup_tool').on(table.workspace_id, table.tool_name),
    index('tool_day_rollup_program').on(table.workspace_id, table.program).where(sql`program IS NOT NULL`),
    index('tool_day_rollup_mcp_server').on(table.workspace_id, table.mcp_server).where(sql`mcp_server IS NOT NULL`),
    index('tool_day_rollup_skill').on(table.workspace_id, table.skill_name).where(sql`skill_name IS NOT NULL`),
    index('tool_day_rollup_subagent').on(table.workspace_id, table.subagent_type).where(sql`subagent_type IS NOT NULL`),
  ],
);

export const fileKey = () => ({ model: text(), is_subagent: boolean().notNull(), file_path: text().notNull() });

export const fileSums = () => ({
  calls: integer().notNull(),
  reads: integer().notNull(),
  /** Edits and writes that did not fail. */
  edits: integer().notNull(),
  errors: integer().notNull(),
  output_bytes: tokens(),
});

/** The indexed part of a path, because the size of index entries is limited, and paths of some formats are not. */
export const indexedPath = (path: AnyPgColumn | SQL): SQL => sql`left(${path}, 256)`;

/** File tool calls that count, by session, UTC day and file. */
export const fileDayRollup = recountSchema.table(
  'file_day_rollup',
  { ...rollupSession(), ...daySpan(), ...fileKey(), ...fileSums() },
  (table) => [
    index('file_day_rollup_session').on(table.workspace_id, table.session_id),
    index('file_day_rollup_time').on(table.workspace_id, table.first_bucket_start),
    index('file_day_rollup_file').on(table.workspace_id, indexedPath(table.file_path)),
  ],
);

const total = () => ({ workspace_id: identifier().notNull(), ...daySpan() });

/** Sums of usage_rollup over all sessions of a workspace, by hour (UTC); see `staleDays`. */
export const usageHourTotal = recountSchema.table(
  'usage_hour_total',
  { ...total(), ...usageTotalKey(), ...usageSums() },
  (table) => [index('usage_hour_total_time').on(table.workspace_id, table.first_bucket_start)],
);

/** Sums of message_rollup over all sessions and models of a workspace, by hour (UTC). */
export const messageHourTotal = recountSchema.table(
  'message_hour_total',
  { ...total(), ...messageKey(), ...messageSums() },
  (table) => [index('message_hour_total_time').on(table.workspace_id, table.first_bucket_start)],
);

/** Sums of tool_day_rollup over all sessions of a workspace, by UTC day. */
export const toolDayTotal = recountSchema.table(
  'tool_day_total',
  { ...total(), ...toolKey(), ...toolSums(), ...toolLists() },
  (table) => [index('tool_day_total_time').on(table.workspace_id, table.first_bucket_start)],
);

/** The part of a session that reports attribute its usage to. */
const attribution = () => ({ agent: text(), project: text(), person: text(), machine: text(), repository: text() });
export const ATTRIBUTION = Object.keys(attribution()) as (keyof ReturnType<typeof attribution>)[];

/** Sums of usage_day_rollup over the sessions of the same agent, project, repository, person and machine, by UTC day. */
export const usageAttributionTotal = recountSchema.table(
  'usage_attribution_total',
  { ...total(), ...attribution(), ...usageTotalKey(), ...usageSums() },
  (table) => [index('usage_attribution_total_time').on(table.workspace_id, table.first_bucket_start)],
);

/** Sums of message_day_rollup over the same sessions. */
export const messageAttributionTotal = recountSchema.table(
  'message_attribution_total',
  { ...total(), ...attribution(), ...messageKey(), ...messageSums() },
  (table) => [index('message_attribution_total_time').on(table.workspace_id, table.first_bucket_start)],
);

/**
 * The number of sessions of a workspace that have rows of a roll-up in an hour or day (UTC), by the time of their last such
 * row before it; see `SESSION_TOTALS`. A session is new in a period, or in a group of a report, in the hour or day whose
 * `previous_bucket_start` is before that period or group.
 */
export const sessionTotal = recountSchema.table(
  'session_total',
  {
    workspace_id: identifier().notNull(),
    /** Name of the count, with the key's name if the row is about one value of the key: `usage`, `usage/model`. */
    counted: identifier().notNull(),
    key: text(),
    period_start: isoTimestamp().notNull(),
    /** Last 15-minute bucket before the period with rows of the same session and key. */
    previous_bucket_start: isoTimestamp(),
    sessions: integer().notNull(),
  },
  (table) => [index('session_total_time').on(table.workspace_id, table.counted, table.period_start)],
);

/**
 * UTC days whose totals may differ from the sessions' roll-ups. A transaction that changes roll-ups adds a row for each day
 * that it changes, and one that changes what a session is attributed to a row for each of its days; as they only insert,
 * they never wait for another. Reports read these days from the sessions' rows.
 */
export const staleDays = recountSchema.table(
  'stale_days',
  { workspace_id: identifier().notNull(), day: isoTimestamp().notNull() },
  (table) => [index('stale_days_workspace').on(table.workspace_id, table.day)],
);
