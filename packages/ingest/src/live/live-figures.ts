import { addStreamTotals, type StreamSummary } from '@recount/core/live';
import type { LiveFigures, LiveSessionChange, LiveSessionRow } from '@recount/db';

/** What a stream's row tells of it. */
export function toFigures(summary: StreamSummary): LiveFigures {
  const { tokens } = summary;
  return {
    line_count: summary.lineCount,
    warning_count: summary.warningCount,
    agent_session_id: summary.agentSessionId,
    model: summary.model,
    tokens_in: tokens.input,
    tokens_out: tokens.output,
    cache_read: tokens.cacheRead,
    cache_write: tokens.cacheWrite,
    cost_usd: summary.costUsd,
    stop_reason: summary.stopReason,
  };
}

/** What a session's row has once the stream has ended. */
export function withTotals(session: LiveSessionRow, summary: StreamSummary): LiveSessionChange {
  const { tokens_in: input, tokens_out: output, cache_read: cacheRead, cache_write: cacheWrite } = session;
  const before = { tokens: { input, output, cacheRead, cacheWrite }, costUsd: session.cost_usd, model: session.model };
  const { tokens, costUsd, model } = addStreamTotals(before, summary);
  return {
    stream_count: session.stream_count + 1,
    tokens_in: tokens.input,
    tokens_out: tokens.output,
    cache_read: tokens.cacheRead,
    cache_write: tokens.cacheWrite,
    cost_usd: costUsd,
    model,
  };
}
