import { z } from 'zod';
import { problemFields } from './problem.ts';

export const healthSchema = z
  .object({ status: z.literal('ok') })
  .meta({ id: 'Health', description: 'The process is up' });

const checkOutcome = z.enum(['ok', 'failed', 'timeout']);

const checksSchema = z.object({
  database: checkOutcome.describe('Postgres answers, and has the schema of this version'),
  raw_store: checkOutcome.describe('The raw store can be written to'),
});

export const readinessSchema = z
  .object({ status: z.literal('ready'), checks: checksSchema })
  .meta({ id: 'Readiness', description: 'All that requests need is there' });

export type Readiness = z.infer<typeof readinessSchema>;

export const readinessProblemSchema = z
  .object({ ...problemFields, checks: checksSchema.optional() })
  .meta({ id: 'ReadinessProblem', description: 'What is not there' });
