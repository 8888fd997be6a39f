import { z } from 'zod';
import { countField, timestampField } from './fields.ts';

/** What a parse found out about a transcript as a whole; a session has those of its primary transcript. */
export const figureFields = {
  total_messages: countField,
  user_messages: countField,
  assistant_messages: countField,
  tool_use_count: countField,
  thinking_blocks: countField,
  subagent_count: countField.describe('Tool uses that start a sub-agent'),
  tokens_in: countField.describe('Input tokens, without cached ones'),
  tokens_out: countField,
  cache_read: countField.describe('Input tokens read from the cache'),
  cache_write: countField.describe('Input tokens written to the cache'),
  cost_estimate_usd: z
    .number()
    .nullable()
    .describe(
      'US dollars of the API responses that have a price: 0 without any response, null where none of them has one, and until the transcript is ingested',
    ),
  api_response_count: countField.describe('API responses, each once'),
  unpriced_count: countField.describe('API responses without a price, which `cost_estimate_usd` lacks'),
  duration_ms: countField.describe('Last timestamp minus first, in milliseconds'),
  initial_prompt: z.string().nullable().describe('First real user text, 1,000 characters at most, then `...`'),
  project: z.string().nullable().describe('Working directory of the agent'),
  git_branch: z.string().nullable(),
  agent_version: z.string().nullable(),
  title: z.string().nullable(),
  models: z.array(z.string()).describe('Distinct models in the order of their appearance'),
  first_timestamp: timestampField.nullable(),
  last_timestamp: timestampField.nullable(),
  metadata: z.record(z.string(), z.unknown()).describe('What else the lines tell of the session'),
};
