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

type CountedFigures = Pick<StreamSummary, 'tokens' | 'tokensCover' | 'costUsd' | 'model'>;

/** What a session's row has once the stream has ended, and those that it was sent in place of count no more. */
export function withTotals(
  session: LiveSessionRow,
  summary: CountedFigures,
  replaced: readonly LiveStreamRow[],
): LiveSessionChange {
  const before = replaced.reduce((totals, stream) => withoutStream(totals, summary, stream), toTotals(session));
  const { tokens, costUsd, model } = addStreamTotals(before, summary);
  return {
    stream_count: session.stream_count + 1 - replaced.length,
    tokens_in: tokens.input,
    tokens_out: tokens.output,
    cache_read: tokens.cacheRead,
    cache_write: tokens.cacheWrite,
    cost_usd: costUsd,
    model: cutName(model),
  };
}

const toTotals = (row: LiveSessionRow | LiveStreamRow): SessionTotals => ({
  tokens: { input: row.tokens_in, output: row.tokens_out, cacheRead: row.cache_read, cacheWrite: row.cache_write },
  costUsd: row.cost_usd,
  model: row.model,
});

function withoutStream(
  { tokens, costUsd, model }: SessionTotals,
  { tokensCover }: CountedFigures,
  stream: LiveStreamRow,
): SessionTotals {
  const counted = toTotals(stream);
  return {
    // Those of a whole session are not added up in the first place.
    tokens:
      tokensCover === 'session'
        ? tokens
        : {
            input: tokens.input - counted.tokens.input,
            output: tokens.output - counted.tokens.output,
            cacheRead: tokens.cacheRead - counted.tokens.cacheRead,
            cacheWrite: tokens.cacheWrite - counted.tokens.cacheWrite,
          },
    costUsd: costUsd === null || counted.costUsd === null ? costUsd : costUsd - counted.costUsd,
    model,
  };
}
