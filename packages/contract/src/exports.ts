import { z } from 'zod';
import { reportFilterFields } from './analytics-query.ts';
import { EXPORT_FORMATS } from './choices.ts';

export const exportQuerySchema = z.strictObject({
  ...reportFilterFields,
  format: z.enum(EXPORT_FORMATS).default('csv').describe('The format of the file'),
});
