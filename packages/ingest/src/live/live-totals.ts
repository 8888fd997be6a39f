import type { TokenSums } from '@recount/core';
import type { StreamSummary } from '@recount/core/live';
import type { LiveFigures, LiveSessionChange, LiveSessionRow } from '@recount/db';
import { cutName } from './cut-event.ts';

/** The figures of a stream's row. */
export function toFigures(summary: StreamSummary): LiveFigures {
  return {
    line_count: summary.lineCount,
    warning_count: summary.warningCount,
    agent_session_id: cutName(summary.agentSessionId),
    model: cutName(summary.model),
    ...summary.tokens,
    cost_usd: summary.costUsd,
    stop_reason: cutName(summary.stopReason),
  };
}

type Counted = Pick<LiveFigures, keyof TokenSums | 'cost_usd' | 'model'>;

/** The session's totals once the stream has ended, without the streams that it replaces. */
export function withTotals(
  session: Counted & Pick<LiveSessionRow, 'stream_count'>,
  stream: Counted,
  { tokensCover }: Pick<StreamSummary, 'tokensCover'>,
  replaced: readonly Counted[] = [],
): LiveSessionChange {
  const toTokens = (field: keyof TokenSums): number =>
    tokensCover === 'session'
      ? // Totals of a whole session are never added up.
        Math.max(session[field], stream[field])
      : replaced.reduce((sum, { [field]: counted }) => sum - counted, session[field] + stream[field]);
  const replacedUsd = replaced.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0);
  const before = session.cost_usd === null ? null : session.cost_usd - replacedUsd;
  return {
    stream_count: session.stream_count + 1 - replaced.length,
    tokens_in: toTokens('tokens_in'),
    tokens_out: toTokens('tokens_out'),
    cache_read: toTokens('cache_read'),
    cache_write: toTokens('cache_write'),
    // The column rounds sums to its units.
    cost_usd: before === null || stream.cost_usd === null ? (before ?? stream.cost_usd) : before + stream.cost_usd,
    model: session.model ?? stream.model,
  };
}
