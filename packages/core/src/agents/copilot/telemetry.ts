import { type AgentTelemetry, readName, readTokens, toRequest } from '../telemetry.ts';

/**
 * The span `chat` of each response, by the conventions of OpenTelemetry for generative AI. Copilot exports no events, and
 * its metrics name no session. Its cost is in premium requests. Seen in 1.0.102
 */
export const copilotTelemetry: AgentTelemetry = {
  read(signal) {
    const { kind, attributes, resource, timeMs } = signal;
    if (kind !== 'span' || resource.get('service.name') !== 'github-copilot') return undefined;
    if (attributes.get('gen_ai.operation.name') !== 'chat') return undefined;
    const cacheReadTokens = readTokens(attributes, 'gen_ai.usage.cache_read.input_tokens');
    const cacheWriteTokens =
      readTokens(attributes, 'gen_ai.usage.cache_write.input_tokens') ||
      readTokens(attributes, 'gen_ai.usage.cache_creation.input_tokens');
    const input = readTokens(attributes, 'gen_ai.usage.input_tokens');
    return toRequest(signal, {
      sessionId: readName(attributes, 'gen_ai.conversation.id'),
      requestId: readName(attributes, 'gen_ai.response.id'),
      model: readName(attributes, 'gen_ai.response.model', 'gen_ai.request.model'),
      purpose: readName(attributes, 'github.copilot.initiator'),
      timestampMs: timeMs,
      inputTokens: Math.max(0, input - cacheReadTokens - cacheWriteTokens),
      outputTokens: readTokens(attributes, 'gen_ai.usage.output_tokens'),
      cacheReadTokens,
      cacheWriteTokens,
    });
  },
};
