import type { LiveStream } from '@recount/contract';
import type { ListedLiveStream } from '@recount/db';

/** Converts a stream's row to the API's answer. */
export function toLiveStream(row: ListedLiveStream): LiveStream {
  return {
    stream_id: row.id,
    session_id: row.session_id,
    agent: row.agent,
    source_format: row.source_format,
    state: row.state,
    stored_bytes: row.stored_bytes,
    line_count: row.line_count,
    warning_count: row.warning_count,
    agent_session_id: row.agent_session_id,
    model: row.model,
    tokens: { input: row.tokens_in, output: row.tokens_out, cacheRead: row.cache_read, cacheWrite: row.cache_write },
    cost_usd: row.cost_usd,
    started_at: row.started_at,
    last_received_at: row.last_received_at,
    ended_at: row.ended_at,
    success: row.success,
    aborted: row.aborted,
    error: row.error,
    stop_reason: row.stop_reason,
    transcript_id: row.state === 'closed' ? row.transcript_id : null,
  };
}
