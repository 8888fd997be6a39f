import type {
  BlockContent,
  MessageRecord,
  ResponseRecord,
  ToolResult,
  ToolUse,
  ToolUseFacts,
  UsageRecord,
} from './records.ts';
import { type MessageType, UNKNOWN_MODEL } from './rows.ts';
import { NO_USAGE, type Usage } from './usage.ts';

/** A response with the given fields; all others are empty. */
function newResponse(known: Partial<ResponseRecord>): ResponseRecord {
  return {
    responseId: null,
    requestId: null,
    uuid: null,
    timestampMs: undefined,
    agentId: null,
    model: null,
    isSynthetic: false,
    stopReason: null,
    usage: undefined,
    billedRequests: [],
    reportedCostUsd: null,
    gitBranch: null,
    agentVersion: null,
    isMarkedCopy: false,
    blocks: [],
    ...known,
  };
}

/** The model, or UNKNOWN_MODEL for usage without one, because no price is guessed for it. */
export const toModel = ({ model = null, usage }: Partial<Pick<ResponseRecord, 'model' | 'usage'>>): string | null =>
  usage === undefined ? model : (model ?? UNKNOWN_MODEL);

/** A message with the given fields; all others are empty. */
export function newMessage(type: MessageType, known: Partial<MessageRecord>): MessageRecord {
  return {
    ...newResponse(known),
    kind: 'message',
    type,
    parentUuid: null,
    parentToolUseId: null,
    timestamp: known.timestampMs === undefined ? null : new Date(known.timestampMs).toISOString(),
    isSidechain: false,
    role: type === 'summary' ? null : type,
    metadata: {},
    promptText: undefined,
    ...known,
    model: toModel(known),
  };
}

/** Usage without a message; response fields that are not given are empty. */
export function newUsageRecord(known: Partial<UsageRecord> & Pick<UsageRecord, 'usage'>): UsageRecord {
  return { ...newResponse(known), isSubagent: false, ...known, model: toModel(known), kind: 'usage' };
}

/** A content block with the given fields; all others are empty. */
export function newBlock(blockType: string, known: Partial<BlockContent> = {}): BlockContent {
  return {
    block_type: blockType,
    content_text: null,
    thinking_text: null,
    tool_name: null,
    tool_use_id: null,
    tool_input: null,
    tool_result_id: null,
    is_error: null,
    result_text: null,
    metadata: {},
    contentBytes: 0,
    writtenBytes: 0,
    ...known,
  };
}

/** A tool use with the given tool and fields; all others are empty. */
export function newToolUse(facts: Pick<ToolUseFacts, 'tool_name' | 'tool_kind'> & Partial<ToolUseFacts>): ToolUse {
  const unknown = { mcp_server: null, program: null, file_path: null, subagent_type: null, skill_name: null };
  return { countsSearches: false, facts: { ...unknown, input_bytes: 0, ...facts } };
}

/** A tool result with the given fields; all others are empty. */
export function newToolResult(known: Pick<ToolResult, 'timestampMs' | 'isError'> & Partial<ToolResult>): ToolResult {
  return { isDenied: false, outputBytes: 0, subagentId: null, searchCount: 0, ...known };
}

/** Usage with the given counts; all others are 0. */
export function newUsage(known: Partial<Usage>): Usage {
  return { ...NO_USAGE, ...known };
}
