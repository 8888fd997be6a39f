import { z } from 'zod';
import { deliverySchema, destinationIdsField } from './alerts.ts';
import { timeZoneField } from './analytics-query.ts';
import { keptFiltersSchema } from './budgets.ts';
import { DIGEST_PERIODS } from './choices.ts';
import { countField, text, timestampField, titleField } from './fields.ts';

const MAX_NAME_LENGTH = 100;

const fields = {
  name: titleField,
  period: z.enum(DIGEST_PERIODS).describe('Weeks begin on Monday'),
  filters: keptFiltersSchema,
  destination_ids: destinationIdsField.describe('Destinations that get it; null for all'),
};

export const digestRequestSchema = z
  .strictObject({
    name: fields.name,
    period: fields.period.default('week'),
    time_zone: timeZoneField,
    filters: fields.filters.default({}),
    destination_ids: fields.destination_ids.default(null),
  })
  .meta({ id: 'DigestRequest', description: 'A digest to be made' });

export type DigestRequest = z.input<typeof digestRequestSchema>;

export const digestChangeSchema = z
  .strictObject({ ...fields, time_zone: timeZoneField.unwrap() })
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'Nothing to change')
  .meta({ id: 'DigestChange', description: 'Fields that are left out stay as they are' });

export const digestParamsSchema = z.object({ digest_id: text(MAX_NAME_LENGTH).describe('Id of the digest, a ULID') });

const filtersField = z.record(z.string(), z.union([z.string(), z.array(z.string())]));

export const digestSchema = z
  .object({
    id: z.string().describe('ULID'),
    name: z.string(),
    period: z.enum(DIGEST_PERIODS),
    time_zone: z.string(),
    filters: filtersField,
    destination_ids: z.array(z.string()).nullable(),
    sent_period: z.iso.date().nullable().describe('First day of the latest period that was sent; null if none was'),
    created_at: timestampField,
  })
  .meta({ id: 'Digest', description: 'A report that is sent when a week or month is over' });

export type Digest = z.infer<typeof digestSchema>;

export const digestListSchema = z
  .object({ digests: z.array(digestSchema) })
  .meta({ id: 'DigestList', description: 'All digests of the workspace, by name' });

export type DigestList = z.infer<typeof digestListSchema>;

const figures = {
  cost_usd: z.number().nullable().describe('At list prices; null if no response has a price'),
  total_tokens: countField,
  sessions: countField,
  unpriced_responses: countField.describe('Responses without a price, which the cost lacks'),
};

export const digestPreviewSchema = z
  .object({
    heading: z.string().describe('Subject of a mail'),
    plain: z.string().describe('As text'),
    html: z.string(),
    content: z
      .object({
        digest_id: z.string(),
        name: z.string(),
        period: z.enum(DIGEST_PERIODS),
        time_zone: z.string(),
        filters: filtersField,
        from: z.iso.date().describe('First day'),
        to: z.iso.date().describe('The day after the last one'),
        totals: z.object(figures),
        previous: z.object(figures).describe('The period before'),
        groups: z.array(
          z.object({
            by: z.enum(['repository', 'person', 'model']),
            rows: z.array(z.object({ name: z.string().nullable(), ...figures })),
            truncated: z.boolean(),
          }),
        ),
        unmatched: z.array(z.string()).describe('Filters that match nothing in the workspace, in words'),
      })
      .describe('`data` of the requests to webhooks'),
  })
  .meta({ id: 'DigestPreview', description: 'The digest of the latest period that is over, as it would be sent now' });

export type DigestPreview = z.infer<typeof digestPreviewSchema>;

export const sentDigestSchema = z.object({ deliveries: z.array(deliverySchema) }).meta({
  id: 'SentDigest',
  description: 'The messages that wait, one for each destination; none without destinations',
});
