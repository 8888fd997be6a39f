import { z } from 'zod';
import { problemFields } from './problem.ts';

export const healthSchema = z
  .object({ status: z.literal('ok') })
  .meta({ id: 'Health', description: 'The process is up' });

const checkOutcome = z.enum(['ok', 'failed', 'timeout']);

const checksSchema = z.object({
  database: checkOutcome.describe('Postgres answers, has the schema of this version, and takes writes'),
  raw_store: checkOutcome.describe('The raw store takes an object and gives it back'),
});

const roomSchema = z.enum(['ok', 'low', 'full', 'unknown']);

const spaceSchema = z
  .object({
    database: roomSchema.describe('Free space on the disk of RECOUNT_DATABASE_DIRECTORY; unknown if that is not set'),
    raw_store: roomSchema.describe('Free space on the disk of the folder; unknown with S3'),
  })
  .describe('`low` is below the watermark; `full` is below the minimum, so that uploads are refused');

export const readinessSchema = z
  .object({ status: z.literal('ready'), checks: checksSchema, space: spaceSchema })
  .meta({ id: 'Readiness', description: 'Everything that requests need is available' });

export type Readiness = z.infer<typeof readinessSchema>;

export const readinessProblemSchema = z
  .object({ ...problemFields, checks: checksSchema.optional(), space: spaceSchema.optional() })
  .meta({ id: 'ReadinessProblem', description: 'What is unavailable' });
