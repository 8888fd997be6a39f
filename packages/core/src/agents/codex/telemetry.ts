import { type AgentTelemetry, readName, readTime, readTokens, toRequest } from '../telemetry.ts';

/**
 * The event `codex.sse_event` of the kind `response.completed`. It names no response. Each thread, also a sub-agent's,
 * is a conversation. Its metrics name no conversation. codex-rs/otel/src/events/session_telemetry.rs, seen in 0.171.0
 */
export const codexTelemetry: AgentTelemetry = {
  read(signal) {
    const { kind, names, attributes, timeMs } = signal;
    if (kind !== 'event' || !names.includes('codex.sse_event')) return undefined;
    if (attributes.get('event.kind') !== 'response.completed') return undefined;
    const cacheReadTokens = readTokens(attributes, 'cached_token_count');
    const cacheWriteTokens = readTokens(attributes, 'cache_write_token_count');
    const input = readTokens(attributes, 'input_token_count');
    return toRequest(signal, {
      sessionId: readName(attributes, 'conversation.id'),
      model: readName(attributes, 'model', 'slug'),
      // Log records of the exporter have no time.
      timestampMs: readTime(attributes, 'event.timestamp') ?? timeMs,
      inputTokens: Math.max(0, input - cacheReadTokens - cacheWriteTokens),
      outputTokens: readTokens(attributes, 'output_token_count'),
      cacheReadTokens,
      cacheWriteTokens,
    });
  },
};
