import type { ReportCaveats } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { usageRollup } from '../schema/rollups.ts';
import { usageLedger } from '../schema/usage.ts';
import { USAGE_SOURCE } from './read-usage-report.ts';
import { joinSessions, toConditions } from './report-source.ts';

/** Sessions that are searched, and terms that are named. */
const MAX_SESSIONS = 200;
const MAX_TERMS = 100;

/** The terms that the price of a model's responses depends on. */
export type UnpricedTerms = ReportCaveats['unpriced']['terms'][number];

/**
 * The tiers and speeds of responses of the models that have no price, from at most 200 sessions that pass the filter.
 * Roll-ups have neither, so the sessions are found in them and the terms in the ledger.
 */
export async function readUnpricedTerms(
  database: Database,
  filter: ReportFilter,
  models: readonly string[],
): Promise<UnpricedTerms[]> {
  const named = sql`ANY(${sql.param([...models])}::text[])`;
  const { rows } = await database.execute<UnpricedTerms & Record<string, unknown>>(sql`
    WITH found AS (
      SELECT DISTINCT u.session_id FROM ${usageRollup} AS u ${joinSessions(USAGE_SOURCE, filter)}
      WHERE ${toConditions(filter, USAGE_SOURCE)} AND NOT u.is_shared AND u.unpriced_responses > 0 AND u.model = ${named}
      LIMIT ${MAX_SESSIONS}
    )
    SELECT DISTINCT l.model, l.service_tier, l.speed, l.web_search_requests > 0 AS has_web_search
    FROM found JOIN ${usageLedger} AS l ON l.workspace_id = ${filter.workspaceId} AND l.session_id = found.session_id
    WHERE l.price_basis = 'unpriced' AND l.model = ${named}
    ORDER BY l.model, l.service_tier, l.speed LIMIT ${MAX_TERMS}`);
  return rows;
}
