import { toUsageFigures, type UsageFigures, type UsageSums } from '@recount/core';
import type { LedgerRow, LocalLedger } from './local-ledger.ts';
import { addResponse, createSums, type GroupSums } from './usage-figures.ts';
import { passesFilter, type UsageFilter } from './usage-report.ts';

const HOUR_MS = 60 * 60_000;
const BLOCK_MS = 5 * HOUR_MS;

/** Five hours of usage, the window of the vendors' limits. */
export interface UsageBlock extends UsageFigures {
  /** ISO 8601; on the full hour (UTC). */
  start: string;
  end: string;
  /** Time of the last response in the block. */
  last_response: string;
  models: string[];
  sessions: number;
}

/**
 * Blocks of five hours. Each begins at the full hour (UTC) of the first response after the end of the previous one. All
 * responses with the filter's agent determine the blocks; its other conditions choose what is counted. `sums` are the
 * sums that a block's figures come from.
 */
export function listBlocks(ledger: LocalLedger, filter: UsageFilter): { block: UsageBlock; sums: UsageSums }[] {
  const { fromMs, toMs, ...others } = filter;
  const rows = ledger.rows
    .filter((row): row is LedgerRow & { timestampMs: number } => row.timestampMs !== null)
    .filter((row) => passesFilter(row, { agent: filter.agent }))
    .sort((one, other) => one.timestampMs - other.timestampMs);
  const blocks: { startMs: number; lastMs: number; sums: GroupSums; models: Set<string> }[] = [];
  let startMs = Number.NEGATIVE_INFINITY;
  let block: (typeof blocks)[number] | undefined;
  for (const row of rows) {
    if (row.timestampMs >= startMs + BLOCK_MS) {
      startMs = Math.floor(row.timestampMs / HOUR_MS) * HOUR_MS;
      block = { startMs, lastMs: startMs, sums: createSums(), models: new Set() };
      blocks.push(block);
    }
    if (block === undefined || !passesFilter(row, others)) continue;
    addResponse(block.sums, row);
    block.lastMs = row.timestampMs;
    if (row.model !== null) block.models.add(row.model);
  }
  return blocks
    .filter(({ sums }) => sums.usage.responses > 0)
    .filter((each) => (fromMs === undefined || each.startMs >= fromMs) && (toMs === undefined || each.startMs < toMs))
    .map((each) => ({
      block: {
        start: new Date(each.startMs).toISOString(),
        end: new Date(each.startMs + BLOCK_MS).toISOString(),
        last_response: new Date(each.lastMs).toISOString(),
        models: [...each.models].sort(),
        sessions: each.sums.sessions.size,
        ...toUsageFigures(each.sums.usage),
      },
      sums: each.sums.usage,
    }));
}
