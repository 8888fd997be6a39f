import type { PriceTable, Usage } from '@recount/core';
import type { Database } from '../database/database.ts';
import { and, asc, eq, gt, sql } from '../drizzle.cjs';
import { transcriptMessages } from '../schema/messages.ts';
import { transcripts } from '../schema/transcripts.ts';
import { usageEntries } from '../schema/usage.ts';
import { COST_COLUMNS } from '../schema/usage-columns.ts';
import { deleteCheckpoint } from '../transcripts/checkpoints.ts';
import { toNewRowSet } from '../transcripts/transcript-rows.ts';
import { COST_OF_ENTRIES } from '../transcripts/transcript-totals.ts';
import { settleSessions } from './settle-sessions.ts';

const ENTRIES_PER_STEP = 5000;

type Entry = typeof usageEntries.$inferSelect;

/**
 * Prices the usage of an ingested transcript again, without parsing it. This covers its entries, messages and totals,
 * and everything derived from them. The caller holds the session's lock.
 */
export async function repriceTranscript(
  transaction: Database,
  { workspaceId, sessionId, rowSetId }: { workspaceId: string; sessionId: string; rowSetId: string },
  prices: PriceTable,
): Promise<void> {
  const ofTranscript = and(eq(usageEntries.workspace_id, workspaceId), eq(usageEntries.row_set_id, rowSetId));
  let lastNumber = -1;
  for (;;) {
    const entries = await transaction
      .select()
      .from(usageEntries)
      .where(and(ofTranscript, gt(usageEntries.entry_number, lastNumber)))
      .orderBy(asc(usageEntries.entry_number))
      .limit(ENTRIES_PER_STEP);
    if (entries.length === 0) break;
    await updatePrices(transaction, entries, prices);
    lastNumber = entries.at(-1)?.entry_number ?? lastNumber;
  }
  // Its state contains costs at the old rates.
  await deleteCheckpoint(transaction, { workspaceId, rowSetId });
  await transaction.execute(sql`
    UPDATE ${transcriptMessages} AS m SET cost_usd = e.cost_usd
    FROM ${usageEntries} AS e
    WHERE e.workspace_id = ${workspaceId} AND e.row_set_id = ${rowSetId} AND e.source = 'message'
      AND m.workspace_id = e.workspace_id AND m.row_set_id = e.row_set_id AND m.id = e.message_id
      AND m.cost_usd IS DISTINCT FROM e.cost_usd`);
  await transaction.execute(sql`
    UPDATE ${transcripts} AS t
    SET price_version = ${prices.version}, cost_estimate_usd = total.cost_usd, unpriced_count = total.unpriced_count
    FROM (
      SELECT ${COST_OF_ENTRIES} AS cost_usd,
        count(*) FILTER (WHERE price_basis = 'unpriced') AS unpriced_count
      FROM ${usageEntries} WHERE workspace_id = ${workspaceId} AND row_set_id = ${rowSetId}
    ) AS total
    WHERE t.workspace_id = ${workspaceId} AND t.row_set_id = ${rowSetId}`);
  const written = [toNewRowSet({ workspaceId, rowSetId })];
  await settleSessions(transaction, { workspaceId, sessionIds: [sessionId], written, removedRowSetIds: [] });
}

async function updatePrices(transaction: Database, entries: readonly Entry[], prices: PriceTable): Promise<void> {
  const [first] = entries;
  if (first === undefined) return;
  const rows = entries.map((entry) => {
    const { model, timestamp, reported_cost_usd: reportedCostUsd } = entry;
    const { costUsd, costs, basis } = prices.price({ model, timestamp, usage: toUsage(entry), reportedCostUsd });
    return {
      entry_number: entry.entry_number,
      cost_usd: costUsd,
      cost_input_usd: costs?.input ?? null,
      cost_output_usd: costs?.output ?? null,
      cost_cache_read_usd: costs?.cacheRead ?? null,
      cost_cache_write_usd: costs?.cacheWrite ?? null,
      cost_web_search_usd: costs?.webSearch ?? null,
      price_basis: basis,
    };
  });
  await transaction.execute(sql`
    UPDATE ${usageEntries} AS e
    SET ${sql.raw(COST_COLUMNS.map((name) => `${name} = p.${name}`).join(', '))},
        price_basis = p.price_basis, price_version = ${prices.version}
    FROM jsonb_populate_recordset(NULL::${usageEntries}, ${JSON.stringify(rows)}::jsonb) AS p
    WHERE e.workspace_id = ${first.workspace_id} AND e.row_set_id = ${first.row_set_id}
      AND e.entry_number = p.entry_number`);
}

function toUsage(entry: Entry): Usage {
  return {
    inputTokens: entry.tokens_in,
    outputTokens: entry.tokens_out,
    cacheReadTokens: entry.cache_read,
    cacheWriteTokens: entry.cache_write,
    cacheWrite5mTokens: entry.cache_write_5m,
    cacheWrite1hTokens: entry.cache_write_1h,
    webSearchRequests: entry.web_search_requests,
    webFetchRequests: entry.web_fetch_requests,
    thinkingTokens: entry.thinking_tokens,
    serviceTier: entry.service_tier,
    speed: entry.speed,
    inferenceGeo: entry.inference_geo,
    requests: entry.request_tokens ?? undefined,
  };
}
