import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, readDollars, readIdentifier, readObject, readPart } from '../../records/fields.ts';
import { parseTimestampMs } from '../../records/timestamps.ts';

/** The facts of a progress line about a sub-agent's API response. */
export interface ProgressFields {
  messageId: string | null;
  requestId: string | null;
  uuid: string | null;
  timestampMs: number | undefined;
  agentId: string | null;
  model: string | null;
  stopReason: string | null;
  content: JsonValue | undefined;
  usage: JsonObject;
  pausedResponses?: JsonValue | undefined;
  gitBranch: string | null;
  version: string | null;
  isMarkedCopy: boolean;
  reportedCostUsd: number | null;
}

/**
 * Reads an `agent_progress` line. Some versions write a sub-agent's messages into its parent's transcript this way, and
 * nowhere else. Undefined for other progress, for lines that the model did not write, and if there is no usage.
 */
export function toProgressFields(
  line: JsonObject,
  lineTimestampMs: number | undefined,
  onIdentifierCut: () => void,
  onInvalidUsage: (field: string) => void,
): ProgressFields | undefined {
  const data = readObject(line.data);
  if (data?.type !== 'agent_progress') return undefined;
  const envelope = readObject(data.message);
  const message = readObject(envelope?.message);
  if (envelope?.type !== 'assistant') return undefined;
  const usage = readPart(message, 'usage', onInvalidUsage);
  if (usage === undefined) return undefined;
  const identifier = (value: JsonValue | undefined): string | null => readIdentifier(value, onIdentifierCut);
  return {
    messageId: identifier(message?.id),
    requestId: identifier(envelope.requestId),
    uuid: identifier(envelope.uuid),
    timestampMs: parseTimestampMs(envelope.timestamp) ?? lineTimestampMs,
    agentId: identifier(data.agentId),
    model: identifier(message?.model),
    stopReason: identifier(message?.stop_reason),
    content: message?.content,
    usage,
    pausedResponses: message?.pausedResponses,
    gitBranch: identifier(line.gitBranch),
    version: identifier(line.version),
    isMarkedCopy: isJsonObject(line.forkedFrom),
    reportedCostUsd: readDollars(envelope.costUSD, () => onInvalidUsage('costUSD')),
  };
}
