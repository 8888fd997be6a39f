import { z } from 'zod';
import { reportFilterFields } from './analytics-query.ts';

export const EXPORT_DATASETS = ['usage', 'messages', 'sessions'] as const;
const EXPORT_FORMATS = ['csv', 'ndjson', 'parquet'] as const;

export const exportQuerySchema = z.strictObject({
  ...reportFilterFields,
  format: z.enum(EXPORT_FORMATS).default('csv').describe('The format of the file'),
});
