import { z } from 'zod';

const MAX_CURRENCY_LABEL_LENGTH = 16;

const currencyLabelField = z
  .string()
  .trim()
  .min(1)
  .max(MAX_CURRENCY_LABEL_LENGTH)
  .regex(/^[^\p{C}]+$/u, 'Control characters are not allowed')
  .describe('Shown beside costs; nothing is converted');

const usd = z.number().min(0);
const ratesShape = {
  inputUsdPerMillion: usd,
  outputUsdPerMillion: usd,
  cacheReadUsdPerMillion: usd.optional().describe('Left out: a tenth of the input'),
  cacheWrite5mUsdPerMillion: usd.optional().describe('Left out: 1.25 times the input'),
  cacheWrite1hUsdPerMillion: usd.optional().describe('Left out: twice the input'),
};

/** For documentation and types: what is accepted is for packages/prices to say. */
const priceOverrideSchema = z
  .object({
    model: z.string().describe('As transcripts name it; with `*` at its end, all that begin so'),
    startsAt: z.string().optional().describe('ISO 8601; left out: always'),
    ...ratesShape,
    webSearchUsdPerThousand: usd.optional().describe('Left out: 10'),
    longContext: z
      .object({ thresholdTokens: z.int(), ...ratesShape })
      .optional()
      .describe('Of the whole request, where its input and cached tokens together exceed the threshold'),
  })
  .meta({ id: 'PriceOverride', description: 'A workspace’s own price of a model; field names are those of the file' });

export const workspacePricesSchema = z
  .object({
    currency_label: z.string(),
    price_version: z.string().describe('Stored with every cost that is calculated from now on'),
    overrides: z.array(priceOverrideSchema),
  })
  .meta({ id: 'WorkspacePrices', description: 'What a workspace adds to the list prices' });

export type WorkspacePrices = z.infer<typeof workspacePricesSchema>;

export const workspacePricesChangeSchema = z
  .strictObject({
    currency_label: currencyLabelField.optional(),
    // Checked by packages/prices, which knows more and says it better.
    overrides: z
      .unknown()
      .optional()
      .meta({
        type: 'array',
        items: { $ref: '#/components/schemas/PriceOverride' },
        description: 'Take the place of all that are there',
      }),
  })
  .meta({ id: 'WorkspacePricesChange', description: 'What is left out stays as it is' });

export type WorkspacePricesChange = z.infer<typeof workspacePricesChangeSchema>;
