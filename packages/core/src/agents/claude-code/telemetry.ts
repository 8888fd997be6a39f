import { isSessionId } from '../session-id.ts';
import {
  type AgentTelemetry,
  readName,
  readOrigin,
  readTokens,
  type TelemetryRecord,
  type TelemetrySignal,
  toRequest,
} from '../telemetry.ts';

const TOKEN_METRIC = 'claude_code.token.usage';
const COST_METRIC = 'claude_code.cost.usage';

/** The value of `type` in `claude_code.token.usage`, with the class that it counts. */
const TOKEN_TYPES: ReadonlyMap<unknown, keyof TelemetryRecord> = new Map([
  ['input', 'inputTokens'],
  ['output', 'outputTokens'],
  ['cacheRead', 'cacheReadTokens'],
  ['cacheCreation', 'cacheWriteTokens'],
]);

/**
 * The event `claude_code.api_request` for each response, and the metrics of tokens and cost. Sub-agents have the session
 * of the main conversation. https://code.claude.com/docs/en/monitoring-usage, seen in 2.1.332
 */
export const claudeCodeTelemetry: AgentTelemetry = {
  read(signal) {
    const { kind, names } = signal;
    if (kind === 'event') return names.includes('claude_code.api_request') ? readRequest(signal) : undefined;
    const isUsage = names.some((name) => name === TOKEN_METRIC || name === COST_METRIC);
    return kind === 'sum' && isUsage ? readSum(signal) : undefined;
  },
};

function readRequest(signal: TelemetrySignal): ReturnType<AgentTelemetry['read']> {
  const { attributes, timeMs } = signal;
  return toRequest(signal, {
    sessionId: readName(attributes, 'session.id'),
    requestId: readName(attributes, 'request_id'),
    model: readName(attributes, 'model'),
    purpose: readName(attributes, 'query_source'),
    timestampMs: timeMs,
    inputTokens: readTokens(attributes, 'input_tokens'),
    outputTokens: readTokens(attributes, 'output_tokens'),
    cacheReadTokens: readTokens(attributes, 'cache_read_tokens'),
    cacheWriteTokens: readTokens(attributes, 'cache_creation_tokens'),
    costUsd: attributes.get('cost_usd'),
    order: attributes.get('event.sequence'),
  });
}

const MAX_TOKENS = 1e12;
const MAX_DOLLARS = 1e5;

/** Points have one class of tokens each. They are increments, or, if the user asks for it, totals since the start. */
function readSum({ names, attributes, resource, timeMs, point }: TelemetrySignal): ReturnType<AgentTelemetry['read']> {
  const sessionId = readName(attributes, 'session.id') ?? null;
  if (!isSessionId(sessionId) || timeMs === undefined || point === undefined) return undefined;
  const { value, startMs = 0, isCumulative } = point;
  const isCost = names.includes(COST_METRIC);
  const tokenClass = TOKEN_TYPES.get(attributes.get('type'));
  const isPlausible = value > 0 && value <= (isCost ? MAX_DOLLARS : MAX_TOKENS);
  if (!isPlausible || (!isCost && (tokenClass === undefined || !Number.isSafeInteger(value)))) return undefined;
  return {
    kind: 'sum',
    sessionId,
    requestId: null,
    model: readName(attributes, 'model') ?? null,
    purpose: readName(attributes, 'query_source') ?? null,
    timestampMs: timeMs,
    ...{ inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null },
    ...(isCost ? { costUsd: value } : { [tokenClass ?? '']: value }),
    ...readOrigin(attributes, resource),
    identity: JSON.stringify([isCost, [...attributes].sort(), startMs, isCumulative ? null : timeMs]),
  };
}
