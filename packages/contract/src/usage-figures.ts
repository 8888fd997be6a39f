import type { UsageFigures } from '@recount/core';
import { z } from 'zod';
import { countField, timestampField } from './fields.ts';

/** Title of a session, the same wherever it is named. */
export const titleField = z
  .string()
  .describe(
    'What to call it, in one line of at most 120 characters: the title that a person gave it, or else the agent’s own, or else the first line of its first prompt that says what was asked, or else its ID',
  );

const knownCountField = countField.nullable();

/** Facts of a whole transcript, found by the parse; a session has its primary transcript's. */
export const figureFields = {
  total_messages: countField,
  user_messages: countField,
  assistant_messages: countField,
  tool_use_count: countField,
  thinking_blocks: countField,
  subagent_count: countField.describe('Tool uses that start a sub-agent'),
  tokens_in: knownCountField.describe(
    'Input tokens, without cached ones; these four and the cost are null if the transcript has no usage of what was answered',
  ),
  tokens_out: knownCountField,
  cache_read: knownCountField.describe('Input tokens read from the cache'),
  cache_write: knownCountField.describe('Input tokens written to the cache'),
  cost_estimate_usd: z
    .number()
    .nullable()
    .describe(
      'US dollars of the API responses that have a price. It is 0 if nothing was answered, null if no response has a price or there is no usage, and until the transcript is ingested',
    ),
  api_response_count: countField.describe('API responses, each once'),
  output_only_count: countField.describe(
    'API responses whose input is unknown, because a run of the agent was cut off. Tokens and cost are lower bounds',
  ),
  unpriced_count: countField.describe('API responses without a price, which `cost_estimate_usd` lacks'),
  duration_ms: countField.describe('Last timestamp minus first, in milliseconds'),
  initial_prompt: z.string().nullable().describe('First real user text, 1,000 characters at most, then `...`'),
  project: z.string().nullable().describe('Working directory of the agent'),
  git_branch: z.string().nullable(),
  repository: z
    .string()
    .nullable()
    .describe(
      'Name of the repository, the same in all of its worktrees and clones. As an admin named it; else `host/owner/name` if a remote is known, otherwise from the working directory',
    ),
  repository_url: z
    .string()
    .nullable()
    .describe('Remote repository as the agent records it, usually a URL; without user name, password and query'),
  commit_hash: z
    .string()
    .nullable()
    .describe('Commit that was checked out when the session began, if the agent records it'),
  agent_version: z.string().nullable(),
  title: titleField,
  models: z.array(z.string()).describe('Distinct models in the order of their appearance'),
  first_timestamp: timestampField.nullable(),
  last_timestamp: timestampField.nullable(),
  metadata: z.record(z.string(), z.unknown()).describe('Other facts about the session from its lines'),
};

/** A sum of costs, exact to 1e-10 up to 900,000; above that, the nearest number. */
export const costField = z.number().describe('In US dollars, or what the workspace calls its currency');

export const knownCostField = costField
  .nullable()
  .describe('Cost of the responses that have a price. It is 0 without any response, null if no response has a price');

const ratioField = z.number().min(0).max(1).nullable();

/** Tokens by class. These four add up to all tokens. */
export const tokenFields = {
  tokens_in: countField.describe('Input tokens, without cached ones'),
  tokens_out: countField,
  cache_read: countField.describe('Input tokens read from the cache'),
  cache_write: countField.describe('Input tokens written to the cache'),
};

/** Tokens and cost of API responses, each counted once. */
export const usageFiguresSchema = z
  .object({
    responses: countField.describe('API responses'),
    ...tokenFields,
    tokens_out: countField.describe('Too low by the missing output of `unfinalised`'),
    cache_write_1h: countField.describe('Part of `cache_write` with a lifetime of an hour'),
    thinking_tokens: countField.describe('Part of `tokens_out`, where the transcripts have it'),
    total_tokens: countField.describe('`tokens_in` + `tokens_out` + `cache_read` + `cache_write`'),
    cache_hit_ratio: ratioField.describe(
      '`cache_read` / (`tokens_in` + `cache_read` + `cache_write`); null without input',
    ),
    web_search_requests: countField,
    cost_usd: knownCostField,
    cost_by_class: z
      .object({
        input: costField,
        output: costField,
        cache_read: costField,
        cache_write: costField,
        web_search: costField,
      })
      .nullable()
      .describe(
        'Parts of `cost_usd`, null if that is; less than the whole where the agent reported a figure that has no parts',
      ),
    unfinalised: z
      .object({ responses: countField, tokens_out: countField, estimated_tokens_out: countField })
      .describe(
        'Responses whose output count is a placeholder, what they add to `tokens_out`, and an estimate, from the length of the content, of what they should; the estimate is in no total',
      ),
    unpriced: z
      .object({ responses: countField, tokens: countField })
      .describe('Responses without a price, which `cost_usd` lacks, and their tokens of all classes'),
    default_priced_responses: countField.describe('Responses that name no model, priced at the default rates'),
  })
  .meta({ id: 'UsageFigures', description: 'Tokens and cost of API responses' }) satisfies z.ZodType<UsageFigures>;

export type { UsageFigures };

export const ownAndSharedUsageFields = {
  own: usageFiguresSchema.describe('API responses credited here. Over all sessions, each response counts once'),
  shared: usageFiguresSchema.describe('Copies of responses that are credited to another session'),
};
