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

const silentNodeSchema = z.object({
  node: z.string().describe('`host:port`'),
  workspace_ids: z.array(z.string()).describe('Their requests are answered with 503, and their ingestion waits'),
});

const clusterSchema = z
  .object({ silent_nodes: z.array(silentNodeSchema).describe('Nodes without an answer within 2 s') })
  .describe('Where the database is a Citus cluster');

export const readinessSchema = z
  .object({
    status: z
      .enum(['ready', 'degraded'])
      .describe('`degraded`: a node of the database’s cluster does not answer; all other workspaces are served'),
    checks: checksSchema,
    space: spaceSchema,
    cluster: clusterSchema.optional(),
  })
  .meta({ id: 'Readiness', description: 'Everything that requests need is available, maybe not for all workspaces' });

export type Readiness = z.infer<typeof readinessSchema>;

export const readinessProblemSchema = z
  .object({ ...problemFields, checks: checksSchema.optional(), space: spaceSchema.optional() })
  .meta({ id: 'ReadinessProblem', description: 'What is unavailable' });
