import { z } from 'zod';
import { BILL_VENDORS } from './choices.ts';
import { countField, text, timestampField } from './fields.ts';

const MAX_BILL_ROWS = 5000;

const MAX_LABEL_LENGTH = 512;
const MAX_IDENTITY_LENGTH = 8192;
const MAX_DOLLARS = 1e9;

const dayField = z.iso.date().describe('In UTC, as vendors count');
const labelField = text(MAX_LABEL_LENGTH).nullable();
const tokensField = z.int().min(0).nullable().describe('Null if the report has no tokens');
const vendorField = z.enum(BILL_VENDORS).describe('Whose bill it is');

const billRowSchema = z
  .strictObject({
    // The report reads from the day before to the day after, which must be days as well.
    day: dayField.refine((day) => day >= '2000' && day < '2200', 'A day from 2000-01-01 to 2199-12-31'),
    kind: z.enum(['cost', 'usage']).describe('An amount, or tokens without one'),
    model: labelField,
    lineItem: labelField,
    scope: labelField
      .default(null)
      .describe(
        'Ids of the workspace, project, user or key that it is of; null if the report has a line for all of them',
      ),
    serviceTier: labelField,
    amountUsd: z.number().min(-MAX_DOLLARS).max(MAX_DOLLARS).nullable(),
    inputTokens: tokensField.describe('Without cache; null if the report has no tokens'),
    outputTokens: tokensField,
    cacheReadTokens: tokensField,
    cacheWriteTokens: tokensField,
    identity: text(MAX_IDENTITY_LENGTH).describe('The same in each report that has this line'),
  })
  .meta({ id: 'BillRow' });

export const billImportSchema = z.strictObject({
  vendor: vendorField,
  rows: z
    .array(billRowSchema)
    .min(1)
    .max(MAX_BILL_ROWS)
    .refine(
      (rows) => new Set(rows.map(({ identity }) => identity)).size === rows.length,
      'Two lines have the same identity',
    ),
});

export const billReceiptSchema = z
  .object({ lines: countField.describe('Stored, replaced or deleted') })
  .meta({ id: 'BillReceipt', description: 'Number of lines' });

export const billDeletionQuerySchema = z.strictObject({
  vendor: vendorField,
  first_day: dayField.optional().describe('By default, from the first line on'),
  last_day: dayField.optional().describe('By default, to the last line'),
});

export const billListSchema = z
  .object({
    bills: z.array(
      z
        .object({
          vendor: z.string(),
          lines: countField,
          first_day: dayField,
          last_day: dayField,
          amount_usd: z.number(),
          imported_at: timestampField,
        })
        .meta({ id: 'Bill' }),
    ),
  })
  .meta({ id: 'BillList', description: 'A row for each vendor' });

export type BillList = z.infer<typeof billListSchema>;
export type BillReceipt = z.infer<typeof billReceiptSchema>;
