import type { Database } from '../database/database.ts';
import { and, asc, eq, gt, isNotNull, type SQL, sql } from '../drizzle.cjs';
import { usageDayRollup } from '../schema/rollups.ts';
import { transcripts } from '../schema/transcripts.ts';
import { usageEntries } from '../schema/usage.ts';
import type { RepriceSums } from '../schema/workspaces.ts';

/** Transcripts of a workspace that were priced by another version of its prices. */
export interface OutdatedPrices {
  workspaceId: string;
  /** Version of the current prices. */
  priceVersion: string;
  /** Names of models in any case, which may end in `*`: only transcripts that use one of them. Empty means all. */
  models: readonly string[];
}

export interface OutdatedTranscript {
  id: string;
  session_id: string;
}

/** A page of them by id, after `afterId` if given. */
export async function listOutdatedPrices(
  database: Database,
  outdated: OutdatedPrices,
  { afterId, limit }: { afterId: string | undefined; limit: number },
): Promise<OutdatedTranscript[]> {
  return await database
    .select({ id: transcripts.id, session_id: transcripts.session_id })
    .from(transcripts)
    .where(and(isOutdated(outdated), afterId === undefined ? undefined : gt(transcripts.id, afterId)))
    .orderBy(asc(transcripts.id))
    .limit(limit);
}

/** The number of them. */
export async function countOutdatedPrices(database: Database, outdated: OutdatedPrices): Promise<number> {
  const [row] = await database
    .select({ count: sql<number>`count(*)`.mapWith(Number) })
    .from(transcripts)
    .where(isOutdated(outdated));
  return row?.count ?? 0;
}

const isOutdated = ({ workspaceId, priceVersion, models }: OutdatedPrices): SQL | undefined =>
  and(
    eq(transcripts.workspace_id, workspaceId),
    isNotNull(transcripts.ingested_at),
    isNotNull(transcripts.row_set_id),
    sql`${transcripts.price_version} IS DISTINCT FROM ${priceVersion}`,
    models.length === 0 ? undefined : usesModel(models),
  );

/** Reads entries, because a copy of a response may name another model than the one that counts. */
function usesModel(models: readonly string[]): SQL {
  const names = models.map((model) => model.toLowerCase());
  const exact = names.filter((name) => !name.endsWith('*'));
  const prefixes = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return sql`EXISTS (
    SELECT FROM ${usageEntries}
    WHERE ${usageEntries.workspace_id} = ${transcripts.workspace_id}
      AND ${usageEntries.row_set_id} = ${transcripts.row_set_id}
      AND (lower(${usageEntries.model}) = ANY(${sql.param(exact)}::text[])
        OR EXISTS (SELECT FROM unnest(${sql.param(prefixes)}::text[]) AS prefix
          WHERE starts_with(lower(${usageEntries.model}), prefix))))`;
}

/** Sums of all responses of a workspace, each counted once. */
export async function sumWorkspaceUsage(database: Database, workspaceId: string): Promise<RepriceSums> {
  const { rows } = await database.execute<{ responses: string; unpriced: string; cost: string }>(sql`
    SELECT coalesce(sum(responses), 0) AS responses, coalesce(sum(unpriced_responses), 0) AS unpriced,
      coalesce(sum(cost_units), 0) / 1e10 AS cost
    FROM ${usageDayRollup} WHERE workspace_id = ${workspaceId} AND NOT is_shared`);
  const [sums] = rows;
  return {
    responses: Number(sums?.responses ?? 0),
    unpriced_responses: Number(sums?.unpriced ?? 0),
    cost_usd: Number(sums?.cost ?? 0),
  };
}
