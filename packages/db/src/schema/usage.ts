import type { JsonObject, PriceBasis, RequestTokens, SessionEventKind, ToolKind, UsageSource } from '@recount/core';
import { bigint, boolean, index, integer, jsonb, primaryKey, sql, text } from '../drizzle.cjs';
import { identifier, isoTimestamp, recountSchema, tokens, usd } from './column-types.ts';
import { COST_COLUMNS, TOKEN_COLUMNS, toColumns } from './usage-columns.ts';
import { workspaces } from './workspaces.ts';

/**
 * Facts that copies of one response can disagree about. `model` means that they name different ones. `time` means that
 * their times are further apart than a response takes. `figures` means that their tokens or pricing terms differ by
 * more than a placeholder does.
 */
export const DISAGREEMENTS = ['model', 'time', 'figures'] as const;
export type Disagreement = (typeof DISAGREEMENTS)[number];

/** The usage and cost of an API response, the same columns in every copy's entry and in the ledger. */
const responseFigures = () => ({
  provider_message_id: text(),
  request_id: text(),
  model: text(),
  ...toColumns(TOKEN_COLUMNS, tokens),
  web_search_requests: integer().notNull().default(0),
  web_fetch_requests: integer().notNull().default(0),
  service_tier: text(),
  speed: text(),
  inference_geo: text(),
  /** Tokens of each request if the response took several. Each is priced by its own size. */
  request_tokens: jsonb().$type<readonly RequestTokens[]>(),
  is_unfinalised: boolean().notNull().default(false),
  estimated_tokens_out: bigint({ mode: 'number' }),
  reported_cost_usd: usd(),
  ...toColumns(COST_COLUMNS, usd),
  price_basis: text().$type<PriceBasis>().notNull(),
  price_version: text().notNull(),
});

/** Who made an API response, where and when; in the ledger, as in the credited copy. */
const responseOrigin = () => ({
  session_id: identifier().notNull(),
  row_set_id: identifier().notNull(),
  message_id: identifier(),
  source: text().$type<UsageSource>().notNull(),
  timestamp: isoTimestamp(),
  is_subagent: boolean().notNull(),
  agent_id: text(),
  git_branch: text(),
  agent_version: text(),
  /** Line of the prompt that its turn began with, in its row set; null if an older parser read it. */
  turn_line: integer(),
});

/** Bulk table with every copy of an API response in a transcript. The ledger is derived from it. */
export const usageEntries = recountSchema.table(
  'usage_entries',
  {
    workspace_id: identifier().notNull(),
    ...responseOrigin(),
    entry_number: integer().notNull(),
    agent: text().notNull(),
    response_key: identifier().notNull(),
    is_marked_copy: boolean().notNull(),
    line_number: integer().notNull(),
    ...responseFigures(),
  },
  (table) => [
    primaryKey({ name: 'usage_entries_pk', columns: [table.workspace_id, table.row_set_id, table.entry_number] }),
    index('usage_entries_response').on(table.workspace_id, table.agent, table.response_key),
  ],
);

/**
 * One row for each API response of a workspace, however many transcripts hold a copy. Depends only on the entries. The
 * earliest copy is credited, the most complete one provides the figures.
 */
export const usageLedger = recountSchema.table(
  'usage_ledger',
  {
    workspace_id: identifier().notNull(),
    agent: text().notNull(),
    response_key: identifier().notNull(),
    ...responseOrigin(),
    copy_count: integer().notNull(),
    ...responseFigures(),
    /** The facts that its copies disagree about; null if they agree. */
    disagreements: text().array().$type<Disagreement[]>(),
    /** Its cost according to the cheapest and the most expensive copy; null if they agree. */
    lowest_cost_usd: usd(),
    highest_cost_usd: usd(),
  },
  (table) => [
    primaryKey({ name: 'usage_ledger_pk', columns: [table.workspace_id, table.agent, table.response_key] }),
    index('usage_ledger_session').on(table.workspace_id, table.session_id),
    index('usage_ledger_subagent_time').on(table.workspace_id, table.timestamp).where(sql`is_subagent`),
    index('usage_ledger_disputed').on(table.workspace_id, table.timestamp).where(sql`disagreements IS NOT NULL`),
  ],
);

/** The minimum size of a large tool result. Large ones have an index. */
export const LARGE_RESULT_BYTES = 40_000;

/** Bulk table with every tool call in a transcript. */
export const toolCalls = recountSchema.table(
  'tool_calls',
  {
    workspace_id: identifier().notNull(),
    row_set_id: identifier().notNull(),
    call_number: integer().notNull(),
    session_id: identifier().notNull(),
    call_key: identifier().notNull(),
    response_key: identifier(),
    message_id: identifier().notNull(),
    /** True if this copy counts; false in all others. */
    is_own: boolean().notNull().default(true),
    tool_name: text().notNull(),
    tool_kind: text().$type<ToolKind>().notNull(),
    mcp_server: text(),
    program: text(),
    file_path: text(),
    subagent_type: text(),
    subagent_id: text(),
    skill_name: text(),
    model: text(),
    timestamp: isoTimestamp(),
    is_subagent: boolean().notNull(),
    duration_ms: bigint({ mode: 'number' }),
    is_error: boolean(),
    is_denied: boolean().notNull(),
    input_bytes: bigint({ mode: 'number' }).notNull(),
    output_bytes: bigint({ mode: 'number' }),
    line_number: integer().notNull(),
  },
  (table) => [
    primaryKey({ name: 'tool_calls_pk', columns: [table.workspace_id, table.row_set_id, table.call_number] }),
    index('tool_calls_response').on(table.workspace_id, table.response_key),
    index('tool_calls_session').on(table.workspace_id, table.session_id),
    index('tool_calls_time').on(table.workspace_id, table.timestamp).where(sql`is_own`),
    index('tool_calls_agent_time').on(table.workspace_id, table.timestamp).where(sql`is_own AND tool_kind = 'agent'`),
    index('tool_calls_skill_time')
      .on(table.workspace_id, table.timestamp)
      .where(sql`is_own AND skill_name IS NOT NULL`),
    index('tool_calls_large_result')
      .on(table.workspace_id, table.timestamp)
      .where(sql.raw(`is_own AND output_bytes >= ${LARGE_RESULT_BYTES}`)),
    index('tool_calls_subagent')
      .on(table.workspace_id, table.session_id, table.subagent_id)
      .where(sql`subagent_id IS NOT NULL`),
  ],
);

/** Events that reports select by time. The others, mostly prompts, cost no index. */
const isReportedKind = sql`kind IN ('api_error', 'api_retry', 'compaction', 'pull_request')`;

/** Bulk table with prompts, turns (their names are their kinds of work), compactions, API errors, retries, pull requests, commands. */
export const sessionEvents = recountSchema.table(
  'session_events',
  {
    workspace_id: identifier().notNull(),
    row_set_id: identifier().notNull(),
    event_number: integer().notNull(),
    session_id: identifier().notNull(),
    event_key: identifier().notNull(),
    kind: text().$type<SessionEventKind>().notNull(),
    timestamp: isoTimestamp(),
    is_subagent: boolean().notNull(),
    name: text(),
    details: jsonb().$type<JsonObject>().notNull(),
    line_number: integer().notNull(),
  },
  (table) => [
    primaryKey({ name: 'session_events_pk', columns: [table.workspace_id, table.row_set_id, table.event_number] }),
    index('session_events_time').on(table.workspace_id, table.kind, table.timestamp).where(isReportedKind),
    index('session_events_key').on(table.workspace_id, table.event_key).where(isReportedKind),
    index('session_events_turn').on(table.workspace_id, table.row_set_id, table.line_number).where(sql`kind = 'turn'`),
    index('session_events_api_error').on(table.workspace_id, table.session_id).where(sql`kind = 'api_error'`),
    index('session_events_pull_request').on(table.workspace_id, table.name).where(sql`kind = 'pull_request'`),
  ],
);

/** A workspace's own rates, which take precedence over the price table. `rates` is an override of packages/prices. */
export const priceOverrides = recountSchema.table(
  'price_overrides',
  {
    workspace_id: identifier()
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    /** Name of a model, or a prefix followed by `*`. */
    model: text().notNull(),
    /** ISO 8601, or empty for always. */
    starts_at: text().notNull().default(''),
    rates: jsonb().$type<JsonObject>().notNull(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [primaryKey({ columns: [table.workspace_id, table.model, table.starts_at] })],
);
