import { addStreamTotals, type SessionTotals, type StreamSummary } from '@recount/core/live';
import type { LiveFigures, LiveSessionChange, LiveSessionRow, LiveStreamRow } from '@recount/db';
import { cutName } from './event-bounds.ts';

/** What a stream's row tells of it. */
export function toFigures(summary: StreamSummary): LiveFigures {
  const { tokens } = summary;
  return {
    line_count: summary.lineCount,
    warning_count: summary.warningCount,
    agent_session_id: cutName(summary.agentSessionId),
    model: cutName(summary.model),
    tokens_in: tokens.input,
    tokens_out: tokens.output,
    cache_read: tokens.cacheRead,
    cache_write: tokens.cacheWrite,
    cost_usd: summary.costUsd,
    stop_reason: cutName(summary.stopReason),
  };
}

/** What a session's row has once the stream has ended. A stream that it was sent in place of counts no more. */
export function withTotals(
  session: LiveSessionRow,
  summary: StreamSummary,
  superseded?: LiveStreamRow,
): LiveSessionChange {
  const { tokens, costUsd, model } = addStreamTotals(toTotalsBefore(session, summary, superseded), summary);
  return {
    stream_count: session.stream_count + (superseded === undefined ? 1 : 0),
    tokens_in: tokens.input,
    tokens_out: tokens.output,
    cache_read: tokens.cacheRead,
    cache_write: tokens.cacheWrite,
    cost_usd: costUsd,
    model: cutName(model),
  };
}

function toTotalsBefore(
  session: LiveSessionRow,
  { tokensCover }: StreamSummary,
  superseded: LiveStreamRow | undefined,
): SessionTotals {
  // Those of a whole session are not added up in the first place.
  const counted = tokensCover === 'stream' ? superseded : undefined;
  const countedCostUsd = superseded?.cost_usd ?? null;
  return {
    tokens: {
      input: session.tokens_in - (counted?.tokens_in ?? 0),
      output: session.tokens_out - (counted?.tokens_out ?? 0),
      cacheRead: session.cache_read - (counted?.cache_read ?? 0),
      cacheWrite: session.cache_write - (counted?.cache_write ?? 0),
    },
    costUsd:
      countedCostUsd === null || session.cost_usd === null ? session.cost_usd : session.cost_usd - countedCostUsd,
    model: session.model,
  };
}
