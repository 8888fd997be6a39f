import { createHash } from 'node:crypto';
import { readUncutLength } from '../../lines/cut-mark.ts';
import { isNestedDeeperThan, MAX_STORED_JSON_DEPTH } from '../../lines/inline-limit.ts';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import {
  cutCharacters,
  isJsonObject,
  MAX_TYPE_LENGTH,
  readIdentifier,
  readObject,
  readText,
} from '../../records/fields.ts';
import { newBlock } from '../../records/new-records.ts';
import type { BlockContent } from '../../records/records.ts';
import type { MessageType } from '../../records/rows.ts';
import { type InlineContext, toInlineJson, toInlineText } from '../inline-content.ts';
import { describeToolResult, describeToolUse, readToolOutput, toToolInput, toToolName } from './rollout-tools.ts';

/** An item of the conversation in the terms that other agents use. */
export interface RolloutItem {
  /** `output` is the result of a tool call. */
  role: Exclude<MessageType, 'summary'> | 'output';
  blocks: BlockContent[];
}

export interface ItemContext extends InlineContext {
  onIdentifierCut: () => void;
  /** Called for a part of a type that no rule reads. */
  onUnknownBlock: (type: string) => void;
  timestampMs: number | undefined;
  /** Name for a call without an id, the same in every copy of it. */
  toCallId(content: string): string;
}

/** Further parts of a message are ignored; real ones have a few. */
const MAX_PARTS = 10_000;

/** Parts of messages and results, besides pictures and sounds. */
const PART_TYPES: ReadonlySet<string> = new Set([
  ...['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text', 'refusal'],
]);

type Role = RolloutItem['role'];

/** By the type of an item; a message states its role. */
const ROLES: ReadonlyMap<string, Role> = new Map<string, Role>([
  ['agent_message', 'user'],
  ['reasoning', 'assistant'],
  ['function_call', 'assistant'],
  ['custom_tool_call', 'assistant'],
  ['local_shell_call', 'assistant'],
  ['web_search_call', 'assistant'],
  ['tool_search_call', 'assistant'],
  ['image_generation_call', 'assistant'],
  ['function_call_output', 'output'],
  ['custom_tool_call_output', 'output'],
  ['tool_search_output', 'output'],
]);

/** The role of the item in a payload; undefined for one that is not read. */
export function toItemRole(item: JsonObject, type: string): Role | undefined {
  return type === 'message' ? toRole(item.role) : ROLES.get(type);
}

/** The conversation item in a payload; undefined for one that is not read. */
export function readRolloutItem(item: JsonObject, type: string, context: ItemContext): RolloutItem | undefined {
  const role = toItemRole(item, type);
  return role === undefined ? undefined : { role, blocks: toBlocks(item, type, context) };
}

function toBlocks(item: JsonObject, type: string, context: ItemContext): BlockContent[] {
  switch (type) {
    case 'reasoning':
      return [toThinking(item, context)];
    case 'function_call':
    case 'custom_tool_call':
      return [toCall(item, toToolName(item), toToolInput(item.arguments ?? item.input), context)];
    case 'local_shell_call':
      return [toCall(item, 'local_shell', item.action ?? null, context)];
    case 'web_search_call':
      return [toCall(item, 'web_search', item.action ?? null, context)];
    case 'tool_search_call':
      return [toCall(item, 'tool_search', item.arguments ?? null, context)];
    case 'image_generation_call': {
      const { prompt, revised_prompt: revisedPrompt } = item;
      return [toCall(item, 'image_generation', { prompt: prompt ?? revisedPrompt ?? null }, context)];
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [toResult(item, item.output, context)];
    case 'tool_search_output':
      // Descriptions of tools, which are no parts of a message.
      return [toResult(item, item.tools, { ...context, onUnknownBlock: () => undefined })];
    default:
      return toParts(item.content, context);
  }
}

function toRole(role: JsonValue | undefined): 'user' | 'assistant' | 'system' {
  return role === 'assistant' || role === 'user' ? role : 'system';
}

/** The texts and media of a message. */
function toParts(content: JsonValue | undefined, context: ItemContext): BlockContent[] {
  if (typeof content === 'string') return content === '' ? [] : [toText(content, context)];
  const parts = Array.isArray(content) ? content.slice(0, MAX_PARTS) : [];
  return parts.filter(isJsonObject).flatMap((part) => {
    const type = readText(part.type);
    const text = readText(part.text) ?? (type === 'refusal' ? readText(part.refusal) : null);
    if (text !== null && (type === null || PART_TYPES.has(type))) return [toText(text, context)];
    if (type === 'input_image' || type === 'input_audio') return [toMedia(part, type.slice('input_'.length))];
    // Sent between agents, and only they can decrypt it.
    if (type === 'encrypted_content') return [newBlock('encrypted')];
    context.onUnknownBlock(cutCharacters(type ?? 'unknown', MAX_TYPE_LENGTH));
    if (text !== null) return [toText(text, context)];
    const block = newBlock(readIdentifier(part.type, context.onIdentifierCut) ?? 'unknown');
    block.metadata.content = toInlineJson(part, block, context);
    return [block];
  });
}

function toText(text: string, context: ItemContext): BlockContent {
  const block = newBlock('text');
  block.content_text = toInlineText(text, block, context);
  block.writtenBytes = block.contentBytes;
  return block;
}

const DATA_URL = /^data:([\w.+/-]{1,100});base64,/;

/** Media are never stored in rows. Their bytes are in the raw object at the block's line. */
function toMedia(part: JsonObject, blockType: string): BlockContent {
  const url = readText(part.image_url) ?? readText(part.audio_url) ?? readText(readObject(part.image_url)?.url) ?? '';
  const [prefix, mediaType] = DATA_URL.exec(url) ?? [];
  const block = newBlock(blockType);
  const fileId = readText(part.file_id);
  if (url === '' && fileId !== null) block.metadata.file_id = fileId.slice(0, 512).toWellFormed();
  else if (prefix === undefined || mediaType === undefined) block.metadata.url = url.slice(0, 512).toWellFormed();
  else {
    block.metadata.media_type = mediaType;
    block.metadata.byte_length = Math.floor((((readUncutLength(url) ?? url.length) - prefix.length) * 3) / 4);
  }
  return block;
}

/** The summary, because the thinking itself is encrypted; for open models, the thinking. */
function toThinking(item: JsonObject, context: ItemContext): BlockContent {
  const textsOf = (value: JsonValue | undefined): string[] =>
    (Array.isArray(value) ? value : []).flatMap((part) => readText(readObject(part)?.text) ?? []);
  const texts = [...textsOf(item.summary), ...textsOf(item.content)];
  const block = newBlock('thinking');
  block.thinking_text = toInlineText(texts.join('\n'), block, context);
  if (typeof item.encrypted_content === 'string') block.metadata.encrypted = true;
  block.writtenBytes = block.contentBytes;
  return block;
}

function toCall(item: JsonObject, toolName: string, input: JsonValue, context: ItemContext): BlockContent {
  const block = newBlock('tool_use');
  block.tool_name = readIdentifier(toolName, context.onIdentifierCut);
  block.tool_use_id =
    readIdentifier(item.call_id ?? item.id, context.onIdentifierCut) ?? context.toCallId(toFingerprint(input));
  block.tool_input = toInlineJson(input, block, context);
  block.writtenBytes = block.contentBytes;
  block.toolUse = describeToolUse(toolName, input, block.contentBytes);
  return block;
}

/** Equal values have equal fingerprints; all values nested too deep share one. */
export function toFingerprint(input: JsonValue): string {
  const json = isNestedDeeperThan(input, MAX_STORED_JSON_DEPTH) ? '' : JSON.stringify(input);
  return createHash('sha256').update(json).digest('hex').slice(0, 16);
}

function toResult(item: JsonObject, value: JsonValue | undefined, context: ItemContext): BlockContent {
  const output = readToolOutput(value);
  const block = newBlock('tool_result');
  block.tool_result_id = readIdentifier(item.call_id, context.onIdentifierCut);
  block.is_error = output.isError;
  const { content } = output;
  if (typeof content === 'string') block.result_text = toInlineText(content, block, context);
  else if (Array.isArray(content)) {
    const parts = toParts(content, { ...context, isUnmeasured: true });
    const texts = parts.flatMap((part) => part.content_text ?? []);
    const others = parts.filter((part) => part.content_text === null);
    block.result_text = texts.length === 0 ? null : toInlineText(texts.join('\n'), block, context);
    const { contentBytes } = block;
    if (others.length > 0) {
      const parts = others.map((part) => ({ type: part.block_type, ...part.metadata }));
      block.metadata.other_parts = toInlineJson(parts, block, context);
    }
    block.contentBytes = contentBytes;
  } else if (content !== null) block.metadata.content = toInlineJson(content, block, context);
  block.toolResult = describeToolResult(output, block.contentBytes, context.timestampMs);
  return block;
}
