import type { PlannedUsage } from './facts.ts';

/** Lines as Claude Code writes them. */
export type Line = Record<string, unknown>;

const NO_USAGE: PlannedUsage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  webSearches: 0,
};

const pad = (number: number, length: number): string => String(number).padStart(length, '0');

export const toUuid = (number: number): string => `00000000-0000-4000-8000-${pad(number, 12)}`;
export const toMessageId = (number: number): string => `msg_01${pad(number, 22)}`;
export const toRequestId = (number: number): string => `req_011${pad(number, 21)}`;
export const toToolUseId = (number: number): string => `toolu_01${pad(number, 20)}`;

export interface AssistantLine {
  messageId: string;
  requestId: string;
  model: string | null;
  block: Line;
  usage: Line;
  stopReason: string | null;
}

export function toAssistantLine({ messageId, requestId, model, block, usage, stopReason }: AssistantLine): Line {
  return {
    type: 'assistant',
    requestId,
    message: {
      id: messageId,
      type: 'message',
      role: 'assistant',
      ...(model !== null && { model }),
      content: [block],
      stop_reason: stopReason,
      usage,
    },
  };
}

/** A sub-agent's response, as its parent's transcript shows it while it runs. */
export function toProgressLine(agentId: string, uuid: string, timestamp: unknown, line: Line): Line {
  return { type: 'progress', data: { type: 'agent_progress', agentId, message: { ...line, uuid, timestamp } } };
}

export function toUsageLine(usage: PlannedUsage, output = usage.output): Line {
  return {
    input_tokens: usage.input,
    output_tokens: output,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cacheWrite5m,
      ephemeral_1h_input_tokens: usage.cacheWrite1h,
    },
    ...(usage.webSearches > 0 && { server_tool_use: { web_search_requests: usage.webSearches } }),
    service_tier: 'standard',
  };
}

export function toCompactionLine(trigger: string, preTokens: number): Line {
  const compactMetadata = { trigger, preTokens };
  return {
    type: 'system',
    subtype: 'compact_boundary',
    content: 'Conversation compacted',
    level: 'info',
    compactMetadata,
  };
}

export function toRetryLine(status: number, retryInMs: number, retryAttempt: number): Line {
  const retry = { error: { status }, retryInMs, retryAttempt, maxRetries: 10 };
  return { type: 'system', subtype: 'api_error', level: 'error', ...retry };
}

/** The line of an agent instead of an answer when the API has failed permanently. */
export function toApiErrorLine(id: unknown, status: number): Line {
  return {
    type: 'assistant',
    isApiErrorMessage: true,
    apiErrorStatus: status,
    message: {
      id,
      role: 'assistant',
      model: '<synthetic>',
      stop_reason: 'stop_sequence',
      content: [{ type: 'text', text: `API Error: ${status}` }],
      usage: toUsageLine(NO_USAGE),
    },
  };
}
