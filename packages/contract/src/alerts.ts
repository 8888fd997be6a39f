import { z } from 'zod';
import { DELIVERY_EVENTS, DELIVERY_STATES, DESTINATION_KINDS } from './choices.ts';
import { countField, nextCursorField, pageQueryFields, text, timestampField, titleField } from './fields.ts';

const MAX_NAME_LENGTH = 100;
const MAX_URL_LENGTH = 2000;
const MAX_ADDRESSES = 20;
const MAX_ADDRESS_LENGTH = 254;
const MAX_NAMED_DESTINATIONS = 50;

const urlField = z.url().max(MAX_URL_LENGTH);
const addressField = z.email().max(MAX_ADDRESS_LENGTH);

export const destinationRequestSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('slack').describe('Incoming webhook of Slack, Mattermost and others that accept `{"text": "…"}`'),
      name: titleField,
      url: urlField.describe('It is a secret: it is stored encrypted, and no answer has it'),
    }),
    z.strictObject({
      kind: z.literal('webhook').describe('JSON, signed as the Standard Webhooks specification says'),
      name: titleField,
      url: urlField.describe('Stored encrypted; no answer has it'),
    }),
    z.strictObject({
      kind: z.literal('email'),
      name: titleField,
      addresses: z
        .array(addressField)
        .min(1)
        .max(MAX_ADDRESSES)
        .refine((values) => new Set(values).size === values.length, 'Each once')
        .describe('Recipients, who see each other'),
    }),
  ])
  .meta({ id: 'DestinationRequest', description: 'A destination to be made' });

/** Destinations that get something; null for all of the workspace. */
export const destinationIdsField = z
  .array(text(MAX_NAME_LENGTH))
  .min(1)
  .max(MAX_NAMED_DESTINATIONS)
  .transform((ids) => [...new Set(ids)])
  .nullable();

export const destinationParamsSchema = z.object({
  destination_id: text(MAX_NAME_LENGTH).describe('Id of the destination, a ULID'),
});

const destinationSchema = z
  .object({
    id: z.string().describe('ULID'),
    name: z.string(),
    kind: z.enum(DESTINATION_KINDS),
    hint: z.string().describe('Host of the URL, or addresses of the e-mail'),
    created_at: timestampField,
  })
  .meta({ id: 'Destination', description: 'A place that warnings are sent to, without its secrets' });

export type Destination = z.infer<typeof destinationSchema>;

export const newDestinationSchema = destinationSchema
  .extend({
    signing_secret: z
      .string()
      .nullable()
      .describe('Of a webhook: what its receiver checks signatures with. It is shown only once. Null for other kinds'),
  })
  .meta({ id: 'NewDestination', description: 'A destination with its new signing secret' });

export type NewDestination = z.infer<typeof newDestinationSchema>;

export const destinationListSchema = z
  .object({ destinations: z.array(destinationSchema) })
  .meta({ id: 'DestinationList', description: 'All destinations of the workspace, by name' });

export type DestinationList = z.infer<typeof destinationListSchema>;

export const deliverySchema = z
  .object({
    id: z.string().describe('ULID; `webhook-id` of the requests. Receivers tell repeated deliveries by it'),
    destination_id: z.string(),
    event: z.string().describe('`budget.crossed`, `digest.due` or `test`; there may be others later'),
    payload: z.record(z.string(), z.unknown()).describe('`data` of the requests'),
    state: z.enum(DELIVERY_STATES).describe('`failed` means given up: it can be tried again by hand'),
    attempts: countField,
    next_attempt_at: timestampField.describe('For `waiting`: not before'),
    failure_reason: z.string().nullable().describe('Of the latest attempt; null if it was sent, or not tried yet'),
    created_at: timestampField,
    ended_at: timestampField.nullable().describe('When it was sent or given up; kept for 30 days from then on'),
  })
  .meta({ id: 'Delivery', description: 'A message to a destination' });

export type Delivery = z.infer<typeof deliverySchema>;

export const deliveryQuerySchema = z.strictObject({
  state: z.enum(DELIVERY_STATES).optional().describe('Only these; `failed` lists what was given up'),
  destination_id: text(MAX_NAME_LENGTH).optional().describe('Only to this destination'),
  event: z.enum(DELIVERY_EVENTS).optional().describe('Only about this'),
  ...pageQueryFields,
});

export const deliveryParamsSchema = z.object({ delivery_id: text(MAX_NAME_LENGTH).describe('Id of the delivery') });

export const deliveryListSchema = z
  .object({ deliveries: z.array(deliverySchema), next_cursor: nextCursorField })
  .meta({ id: 'DeliveryList', description: 'Messages, the latest first' });

export type DeliveryList = z.infer<typeof deliveryListSchema>;
