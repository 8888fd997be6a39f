import { type AgentTelemetry, readName, readTime, readTokens, toRequest } from '../telemetry.ts';

/**
 * The event `gemini_cli.api_response`. It names no response. Its metrics say the same, and are not read. Seen in 0.61.0
 */
export const geminiTelemetry: AgentTelemetry = {
  read(signal) {
    const { kind, names, attributes, timeMs } = signal;
    if (kind !== 'event' || !names.includes('gemini_cli.api_response')) return undefined;
    const cacheReadTokens = readTokens(attributes, 'cached_content_token_count');
    // Input includes cached tokens but not tool prompts; output does not include thoughts.
    const input = Math.max(0, readTokens(attributes, 'input_token_count') - cacheReadTokens);
    return toRequest(signal, {
      sessionId: readName(attributes, 'session.id'),
      model: readName(attributes, 'model'),
      purpose: readName(attributes, 'role'),
      timestampMs: readTime(attributes, 'event.timestamp') ?? timeMs,
      inputTokens: input + readTokens(attributes, 'tool_token_count'),
      outputTokens: readTokens(attributes, 'output_token_count') + readTokens(attributes, 'thoughts_token_count'),
      cacheReadTokens,
      cacheWriteTokens: 0,
      order: attributes.get('prompt_id'),
    });
  },
};
