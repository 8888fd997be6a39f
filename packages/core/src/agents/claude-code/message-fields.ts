import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, readDollars, readIdentifier, readObject, readPart, readText } from '../../records/fields.ts';
import type { MessageType } from '../../records/rows.ts';
import { toMessageMetadata } from './message-metadata.ts';

/**
 * A line that is a message or part of one, with its fields checked; content and usage are still as the agent wrote
 * them.
 */
export interface MessageFields {
  type: MessageType;
  /** `message.id` of an assistant line, which names the API response that the line is part of. */
  messageId: string | null;
  requestId: string | null;
  uuid: string | null;
  parentUuid: string | null;
  /** The tool use that started the sub-agent that this message is from or to. */
  parentToolUseId: string | null;
  timestampMs: number | undefined;
  isSidechain: boolean;
  agentId: string | null;
  role: string | null;
  model: string | null;
  stopReason: string | null;
  content: JsonValue | undefined;
  usage: JsonObject | undefined;
  /** Parts of the answer that ended at a limit, each with a `usage` that `usage` does not contain. */
  pausedResponses?: JsonValue | undefined;
  metadata: JsonObject;
  gitBranch: string | null;
  /** The agent's version. */
  version: string | null;
  /** The line says that it was copied from another session. */
  isMarkedCopy: boolean;
  /** The cost of the response; only old versions state it. */
  reportedCostUsd: number | null;
  toolUseResult: JsonObject | undefined;
}

/** Reads a user, assistant, system or summary line. Fields that are missing or of the wrong type become null. */
export function toMessageFields(
  line: JsonObject,
  type: MessageType,
  timestampMs: number | undefined,
  onIdentifierCut: () => void,
  onInvalidUsage: (field: string) => void,
  hasMetadata = true,
): MessageFields {
  const identifier = (value: JsonValue | undefined): string | null => readIdentifier(value, onIdentifierCut);
  const message = readObject(line.message);
  const isAssistant = type === 'assistant';
  return {
    type,
    messageId: isAssistant ? identifier(message?.id) : null,
    requestId: identifier(line.requestId),
    uuid: identifier(line.uuid),
    parentUuid: identifier(line.parentUuid),
    parentToolUseId: identifier(line.parent_tool_use_id),
    timestampMs,
    isSidechain: line.isSidechain === true,
    agentId: identifier(line.agentId),
    role: identifier(message?.role) ?? (type === 'summary' ? null : type),
    model: isAssistant ? identifier(message?.model) : null,
    stopReason: isAssistant ? identifier(message?.stop_reason) : null,
    content: toContent(line, type, message),
    usage: isAssistant ? readPart(message, 'usage', onInvalidUsage) : undefined,
    pausedResponses: isAssistant ? message?.pausedResponses : undefined,
    metadata: hasMetadata ? toMessageMetadata(line, message) : {},
    gitBranch: identifier(line.gitBranch),
    version: identifier(line.version),
    isMarkedCopy: isJsonObject(line.forkedFrom),
    reportedCostUsd: isAssistant ? readDollars(line.costUSD, () => onInvalidUsage('costUSD')) : null,
    toolUseResult: readObject(line.toolUseResult),
  };
}

/** The field that a user, assistant or summary line must have for its content, and has not; undefined if it has it. */
export function findMissingContent(line: JsonObject, type: MessageType): string | undefined {
  const message = readObject(line.message);
  const content = toContent(line, type, message);
  if (type === 'system' || (content !== undefined && content !== null)) return undefined;
  if (type === 'summary') return 'summary';
  return message === undefined ? 'message' : 'message.content';
}

function toContent(line: JsonObject, type: MessageType, message: JsonObject | undefined): JsonValue | undefined {
  switch (type) {
    case 'summary':
      return readText(line.summary) ?? message?.content;
    case 'system':
      return line.content ?? message?.content;
    default:
      // Some exporters put the content directly into `message`, or beside it.
      return isJsonObject(line.message) ? message?.content : (line.message ?? line.content);
  }
}
