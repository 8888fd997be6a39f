import { pgSchema } from '../drizzle.cjs';

/** Everything of recount's own lives in this Postgres schema; analysts' views in `analytics`, the queue in `pgboss`. */
export const recountSchema = pgSchema('recount');
