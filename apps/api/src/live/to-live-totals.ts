import type { LiveTotals } from '@recount/contract';
import type { findLiveSession } from '@recount/db';

type LiveSession = NonNullable<Awaited<ReturnType<typeof findLiveSession>>>;

export function toLiveTotals(live: LiveSession): LiveTotals {
  return {
    stream_count: live.stream_count,
    running_count: live.running_count,
    tokens: {
      input: live.tokens_in,
      output: live.tokens_out,
      cacheRead: live.cache_read,
      cacheWrite: live.cache_write,
    },
    cost_usd: live.cost_usd,
    model: live.model,
  };
}
