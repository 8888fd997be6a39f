import { readObject, readText } from '../../records/fields.ts';
import type { JsonObject } from '../../rows.ts';
import { toNumberField } from '../coerce-fields.ts';
import { type ClaudeState, toAssistantBase } from './claude-state.ts';
import type { LineContext } from './line-context.ts';
import { toUsageShape } from './line-shape.ts';

/** A `stream_event` line: an event of the API as it came. Tool uses and thoughts are left to their whole lines. */
export function readStreamEvent(state: ClaudeState, line: JsonObject, context: LineContext): void {
  const parentToolUseId = readText(line.parent_tool_use_id);
  const event = readObject(line.event);
  switch (event?.type) {
    case 'message_start': {
      const message = readObject(event.message);
      const messageId = readText(message?.id);
      for (const streamed of state.partials.start(parentToolUseId, messageId)) {
        state.give({ ...toAssistantBase(context.event, streamed), content: streamed.text, wasStreamed: true });
      }
      state.observeModel(readText(message?.model));
      addUsage(state, messageId, message?.usage, context);
      break;
    }
    case 'message_delta':
      state.summary.stopReason = readText(readObject(event.delta)?.stop_reason) ?? state.summary.stopReason;
      addUsage(state, state.partials.messageIdOf(parentToolUseId), event.usage, context);
      break;
    case 'content_block_delta':
      readDelta(state, event, parentToolUseId, context);
      break;
    default:
  }
}

function readDelta(
  state: ClaudeState,
  event: JsonObject,
  parentToolUseId: string | null,
  { event: lineEvent, report }: LineContext,
): void {
  const delta = readObject(event.delta);
  const text = delta?.type === 'text_delta' ? readText(delta.text) : null;
  const index = toNumberField(event.index, 'event.index', report) ?? 0;
  if (text === null || !state.partials.append(parentToolUseId, index, text)) return;
  const messageId = state.partials.messageIdOf(parentToolUseId);
  state.give({ ...toAssistantBase(lineEvent, { messageId, parentToolUseId }), content: text, isPartial: true });
}

/** Without the response's id its usage cannot be told from that of its whole lines, which count. */
function addUsage(
  state: ClaudeState,
  messageId: string | null,
  value: JsonObject[string] | undefined,
  context: LineContext,
): void {
  const usage = readObject(value);
  if (messageId !== null && usage) state.addUsage(messageId, toUsageShape(usage, context.report), context);
}
