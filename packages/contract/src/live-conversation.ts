import type { Prompt } from '@recount/core/live';
import type { ShownBlock, ShownMessage } from './conversation.ts';
import type { FollowedEvent } from './live-events.ts';

/** The words or the action of a running agent, as a message of one block, which has no place in a transcript yet. */
interface LiveMessage extends ShownMessage {
  streamId: string;
  /** The beginning of a text: further pieces, and then the whole, will come. */
  isPartial: boolean;
  /** The call that started the sub-agent that said it. */
  parentToolUseId: string | undefined;
}

/** The reports of a session's streams so far. */
export interface LiveConversation {
  /** Newest last; for `toConversation`. */
  messages: readonly LiveMessage[];
  /** Number of earlier messages that were dropped: the transcript will have them when the run has ended. */
  droppedCount: number;
  /** The agent's current activity, in its own words; empty if it does not say. */
  status: string;
  endedStreamIds: readonly string[];
}

export const NO_LIVE_CONVERSATION: LiveConversation = { messages: [], droppedCount: 0, status: '', endedStreamIds: [] };

const MAX_MESSAGES = 600;

/** Adds an event, whose `id` no other one has. Pure. */
export function addLiveEvent(conversation: LiveConversation, id: string, event: FollowedEvent): LiveConversation {
  const add = (message: LiveMessage, before = conversation.messages): LiveConversation => {
    const messages = [...before, message];
    const excess = Math.max(0, messages.length - MAX_MESSAGES);
    const droppedCount = conversation.droppedCount + excess;
    return { ...conversation, messages: messages.slice(excess), droppedCount, status: '' };
  };
  const say = (type: LiveMessage['message_type'], fields: Partial<ShownBlock>, block_type = 'text') =>
    add(toMessage(id, event, type, { block_type, ...fields }));
  switch (event.type) {
    case 'text': {
      // The whole text replaces its pieces.
      const whole = toMessage(id, event, 'assistant', { content_text: event.text });
      return add(
        whole,
        conversation.messages.filter((message) => !isBeginning(message, whole)),
      );
    }
    case 'tool-start': {
      const { toolId: tool_use_id, toolName: tool_name, toolKind: tool_kind, toolInput, input } = event;
      return say('assistant', { tool_use_id, tool_name, tool_kind, tool_input: input ?? toolInput }, 'tool_use');
    }
    case 'tool-end': {
      const { toolId: tool_result_id, toolOutput, toolError } = event;
      const result_text = toolError ?? toolOutput;
      return say('user', { tool_result_id, result_text, is_error: toolError !== null }, 'tool_result');
    }
    case 'progress': {
      const { name, text, isError } = event;
      if (name === 'text') {
        const piece = { ...toMessage(id, event, 'assistant', { content_text: text }), isPartial: true };
        const before = conversation.messages.find((message) => isBeginning(message, piece));
        if (before === undefined) return add(piece);
        const longer = append(before, text);
        return { ...conversation, messages: conversation.messages.map((each) => (each === before ? longer : each)) };
      }
      if (text.trim() === '') return { ...conversation, status: name };
      if (name === 'user') return say('user', { content_text: text });
      if (name === 'thinking') return say('assistant', { thinking_text: text }, 'thinking');
      return isError ? say('system', { content_text: text }) : { ...conversation, status: text };
    }
    case 'prompt': {
      const { toolUseId } = event.prompt;
      const isShown =
        toolUseId !== null &&
        conversation.messages.some(({ content_blocks: [block] }) => block?.tool_use_id === toolUseId);
      // The call shows its questions, or its plan.
      if (isShown && (event.prompt.kind === 'question' || event.prompt.reason === 'plan_approval')) return conversation;
      return say('system', { content_text: describePrompt(event.prompt) });
    }
    case 'result':
      return event.error === null ? conversation : say('system', { content_text: event.error });
    case 'close':
      return { ...conversation, status: '', endedStreamIds: [...conversation.endedStreamIds, event.stream_id] };
    default:
      return conversation;
  }
}

const REASONS = { permission_request: 'ASKS', plan_approval: 'PLAN', permission_denied: 'DENIED' } as const;

/** An agent's question, or a refusal, in a line or more. */
export function describePrompt(prompt: Prompt): string {
  if (prompt.kind === 'question') {
    const [first] = prompt.questions;
    const options = first?.options.map(({ label }) => label).join(' / ') ?? '';
    return `QUESTION: ${first?.question ?? ''}${options === '' ? '' : ` [${options}]`}`;
  }
  const subject = [prompt.toolName, prompt.message].filter(Boolean).join(': ');
  return `${REASONS[prompt.reason]}: ${subject || 'a permission'}`;
}

const isBeginning = (message: LiveMessage, of: LiveMessage): boolean =>
  message.isPartial && message.streamId === of.streamId && message.parentToolUseId === of.parentToolUseId;

const append = (message: LiveMessage, text: string): LiveMessage => ({
  ...message,
  content_blocks: message.content_blocks.map((block) => ({ ...block, content_text: block.content_text + text })),
});

const toMessage = (
  id: string,
  event: FollowedEvent,
  message_type: LiveMessage['message_type'],
  fields: Partial<ShownBlock>,
): LiveMessage => ({
  id,
  streamId: event.stream_id,
  isPartial: false,
  parentToolUseId: 'parentToolUseId' in event ? event.parentToolUseId : undefined,
  message_type,
  timestamp: new Date(event.timestampMs).toISOString(),
  metadata: {},
  ...{ tokens_in: null, cache_read: null, cache_write: null },
  content_blocks: [
    {
      ...{ id, block_type: 'text', content_text: null, thinking_text: null, metadata: {} },
      ...{ tool_name: null, tool_kind: null, tool_use_id: null, tool_input: null },
      ...{ tool_result_id: null, is_error: null, result_text: null },
      ...fields,
    },
  ],
});
