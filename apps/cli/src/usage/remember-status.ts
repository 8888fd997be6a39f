import { createLocalClock } from '@recount/core';
import { type LocalLedger, listBlocks, reportUsage } from '@recount/usage';
import type { CliContext } from '../terminal/cli-context.ts';
import { toUsageCache } from './cache-directory.ts';
import { type RememberedStatus, writeStatus } from './statusline.ts';

const SESSIONS_MS = 7 * 24 * 60 * 60_000;

/** Saves what the status line shows, and returns it. If that fails, the status line goes without. */
export function rememberStatus(
  context: CliContext,
  ledger: LocalLedger,
  nowMs = Date.now(),
): RememberedStatus | undefined {
  const directory = toUsageCache(context);
  if (directory === undefined) return undefined;
  const clock = createLocalClock(new Intl.DateTimeFormat().resolvedOptions().timeZone);
  const day = new Date(clock.toLocalMs(nowMs)).toISOString().slice(0, 10);
  const today = reportUsage(ledger, [], { fromMs: clock.toDayStartMs(day) }, clock);
  const sessions = reportUsage(ledger, ['session'], { fromMs: nowMs - SESSIONS_MS }, clock);
  const block = listBlocks(ledger, {}).at(-1)?.block;
  const status: RememberedStatus = {
    writtenAtMs: nowMs,
    day,
    todayCostUsd: today.totals.own.cost_usd,
    sessionCostsUsd: Object.fromEntries(sessions.rows.map(({ session, own }) => [session ?? '', own.cost_usd])),
    block: block === undefined ? null : { start: block.start, end: block.end, costUsd: block.cost_usd },
  };
  try {
    writeStatus(directory, status);
    return status;
  } catch {
    return undefined;
  }
}
