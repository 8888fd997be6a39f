import { type BlockContent, toContentBlocks } from '../../messages/content-blocks.ts';
import { toMessageRecord } from '../../records/claude-code/message-record.ts';
import { readText } from '../../records/fields.ts';
import type { JsonObject } from '../../rows.ts';
import { type AssistantBase, type ClaudeState, toAssistantBase } from './claude-state.ts';
import type { LineContext } from './line-context.ts';
import { toMessageLine } from './line-shape.ts';

/** An assistant line: an event for each block, the first of them with the response's tokens. */
export function readAssistant(state: ClaudeState, line: JsonObject, context: LineContext): void {
  const shaped = toMessageLine(line, context.report);
  const { uuid, messageId, model, stopReason, usage, content } = toMessageRecord(
    shaped,
    'assistant',
    context.blocks.onIdentifierCut,
  );
  state.observeModel(model);
  state.summary.stopReason = stopReason ?? state.summary.stopReason;
  const parentToolUseId = readText(line.parent_tool_use_id);
  const base = toAssistantBase(context.event, { uuid, messageId, parentToolUseId });
  if (usage !== undefined) base.tokens = state.addUsage(messageId, usage, context);
  for (const block of toContentBlocks(content, context.blocks)) {
    if (giveBlock(state, block, base, context)) delete base.tokens;
  }
}

/** A user line: one event for what was said, and one for each tool result. */
export function readUser(state: ClaudeState, line: JsonObject, context: LineContext): void {
  const shaped = toMessageLine(line, context.report);
  const { uuid, content } = toMessageRecord(shaped, 'user', context.blocks.onIdentifierCut);
  const parentToolUseId = readText(line.parent_tool_use_id);
  const base = toAssistantBase(context.event, { uuid, parentToolUseId });
  const texts: string[] = [];
  for (const block of toContentBlocks(content, context.blocks)) {
    if (block.block_type === 'text') texts.push(block.content_text ?? '');
    else giveBlock(state, block, base, context);
  }
  if (texts.length === 0) return;
  const isCheckpoint = uuid !== null && parentToolUseId === null && line.isSynthetic !== true;
  state.give({ ...context.event, type: 'user', uuid, content: texts.join('\n'), parentToolUseId, isCheckpoint });
}

/** Gives the event of a block; true where it is one of the assistant's. */
export function giveBlock(
  state: ClaudeState,
  block: BlockContent,
  base: AssistantBase,
  { report }: LineContext,
): boolean {
  const type = block.block_type;
  if (type === 'text' && block.content_text) {
    const wasStreamed = state.partials.takeWhole(base.parentToolUseId, base.messageId, block.content_text);
    state.give({ ...base, content: block.content_text, wasStreamed });
    return true;
  }
  if (type === 'thinking' && block.thinking_text) {
    state.give({ ...base, thinking: block.thinking_text });
    return true;
  }
  // Those of the server and of MCP as well: server_tool_use, mcp_tool_result, …
  if (type.endsWith('tool_use')) {
    if (block.tool_use_id === null) report('missing_field', 'id');
    if (block.tool_name === null) report('missing_field', 'name');
    state.giveToolUse(block.tool_use_id ?? '', block.tool_name ?? '', block.source?.input ?? null, base);
    return true;
  }
  if (type.endsWith('tool_result')) {
    if (block.tool_result_id === null) report('missing_field', 'tool_use_id');
    const toolUseId = block.tool_result_id ?? '';
    state.giveToolResult({ toolUseId, content: block.result_text ?? '', isError: block.is_error === true }, base);
  }
  return false;
}
