import { bigint, integer, text } from '../drizzle.cjs';
import { isoTimestamp, jsonObject, usd } from './column-types.ts';
import { TOKEN_CLASSES, toColumns } from './usage-columns.ts';

/**
 * The facts of a parse about a transcript as a whole. A session's row has the figures of its primary transcript. All
 * are null or zero until the transcript is ingested.
 */
export const transcriptFigures = () => ({
  total_messages: integer().notNull().default(0),
  user_messages: integer().notNull().default(0),
  assistant_messages: integer().notNull().default(0),
  tool_use_count: integer().notNull().default(0),
  thinking_blocks: integer().notNull().default(0),
  subagent_count: integer().notNull().default(0),
  /** These and the cost are null if the transcript has answers but no usage. */
  ...toColumns(TOKEN_CLASSES, () => bigint({ mode: 'number' }).default(0)),
  /**
   * Cost of the responses that have a price: 0 if there are no responses, null if no response has one. `unpriced_count`
   * says how many are missing.
   */
  cost_estimate_usd: usd(),
  api_response_count: integer().notNull().default(0),
  /** Responses whose input is in no figure, because the agent reports it at the end of a run and the run was killed. */
  output_only_count: integer().notNull().default(0),
  unfinalised_count: integer().notNull().default(0),
  unpriced_count: integer().notNull().default(0),
  web_search_count: integer().notNull().default(0),
  prompt_count: integer().notNull().default(0),
  turn_count: integer().notNull().default(0),
  /** Time between messages, without gaps of more than packages/core's MAX_ACTIVE_GAP_MS. */
  active_ms: bigint({ mode: 'number' }).notNull().default(0),
  reported_cost_usd: usd(),
  duration_ms: bigint({ mode: 'number' }).notNull().default(0),
  initial_prompt: text(),
  project: text(),
  git_branch: text(),
  /** Name of the repository, the same in all of its worktrees and clones, see packages/core's `toRepositoryName`. */
  repository: text(),
  /** Address of the remote as the agent records it, without credentials. */
  repository_url: text(),
  commit_hash: text(),
  agent_version: text(),
  title: text(),
  models: text().array().notNull().default([]),
  first_timestamp: isoTimestamp(),
  last_timestamp: isoTimestamp(),
  metadata: jsonObject().notNull().default({}),
});
