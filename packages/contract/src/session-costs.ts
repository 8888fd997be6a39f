import { z } from 'zod';
import { countField, sessionIdField, timestampField } from './fields.ts';
import { costField } from './usage-figures.ts';

const rateField = z.number().nullable().describe('Dollars per million tokens; null without a price');

export const sessionCostsSchema = z
  .object({
    session_id: sessionIdField,
    parts: z
      .array(
        z.object({
          model: z.string().nullable(),
          token_class: z.enum(['input', 'output', 'cache_read', 'cache_write']),
          is_long_context: z
            .boolean()
            .describe('Input, cached included, of more than 200,000 tokens, where some models have higher rates'),
          responses: countField,
          tokens: countField,
          cost_usd: costField,
          lowest_rate_usd: rateField,
          highest_rate_usd: rateField,
        }),
      )
      .describe('By model, class and level of context, the most expensive first'),
    most_expensive: z
      .array(
        z.object({
          line_number: countField,
          message_id: z.string().nullable(),
          timestamp: timestampField.nullable(),
          model: z.string().nullable(),
          is_own: z.boolean().describe('Whether it is credited to this session'),
          tokens_in: countField,
          tokens_out: countField,
          cache_read: countField,
          cache_write: countField,
          cost_usd: costField,
        }),
      )
      .describe('The ten most expensive API responses'),
    unpriced: z
      .array(
        z.object({
          model: z.string().nullable(),
          service_tier: z.string().nullable(),
          speed: z.string().nullable(),
          responses: countField,
        }),
      )
      .describe(
        'Responses without a price, with what their price depends on; models with the most responses first, at most 20',
      ),
    unfinalised_estimate_usd: costField.describe(
      'Extra cost of unfinalised responses by the estimate of their output; in no total',
    ),
    other_cost_usd: costField.describe('Web searches, and costs that the agent reported without parts'),
  })
  .meta({
    id: 'SessionCosts',
    description: 'Cost of the responses in a session’s primary transcript, including those shared with other sessions',
  });

export type SessionCosts = z.infer<typeof sessionCostsSchema>;
