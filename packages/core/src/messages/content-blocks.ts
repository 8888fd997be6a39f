import { createHash } from 'node:crypto';
import { limitJson, limitText, MAX_STORED_JSON_DEPTH } from '../lines/inline-limit.ts';
import { cutCharacters, isJsonObject, MAX_IDENTIFIER_LENGTH, readIdentifier, readObject } from '../records/fields.ts';
import type { JsonObject, JsonValue, ParsedContentBlock } from '../rows.ts';

/** A block as far as the line alone tells: without ids, order and place. */
export interface BlockContent
  extends Omit<
    ParsedContentBlock,
    'id' | 'message_id' | 'session_id' | 'block_order' | 'line_number' | 'byte_offset' | 'byte_length'
  > {
  /**
   * UTF-8 bytes, uncut, of its text, of a tool use's input as JSON, of a tool result's text as the model gets it; of
   * withheld thinking, what its ciphertext tells of its length.
   */
  contentBytes: number;
  /** As the line has it; undefined for bare text. */
  source: JsonObject | undefined;
}

export interface BlockContext {
  maxInlineContentBytes: number;
  /** Whether all texts are known to be ASCII: they then take as many bytes as characters. */
  isAscii?: boolean;
  onNestingTooDeep: () => void;
  onIdentifierCut: () => void;
  /** An element that is no content block at all, e.g. a number. */
  onInvalidContent: () => void;
  onTooManyBlocks: (droppedCount: number) => void;
}

/** A line of 64 MiB could hold millions of empty blocks; the largest count seen in the field is 61. */
export const MAX_BLOCKS_PER_LINE = 10_000;

/** The blocks of a message's content: a string is one text block, null and the empty string are none. */
export function toContentBlocks(content: JsonValue | undefined, context: BlockContext): BlockContent[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [toTextBlock(content, context)];
  const elements = Array.isArray(content) ? content : [content];
  if (elements.length > MAX_BLOCKS_PER_LINE) context.onTooManyBlocks(elements.length - MAX_BLOCKS_PER_LINE);
  const blocks: BlockContent[] = [];
  for (const [index, element] of elements.entries()) {
    if (index === MAX_BLOCKS_PER_LINE) break;
    if (typeof element === 'string') blocks.push(toTextBlock(element, context));
    else if (isJsonObject(element)) {
      const block = toBlock(element, context);
      block.source = element;
      blocks.push(block);
    } else context.onInvalidContent();
  }
  return blocks;
}

/** Bytes of the block that the model wrote, as far as they show; what the API's own tools returned is not its writing. */
export function toWrittenBytes(block: BlockContent): number {
  return WRITTEN_TYPES.has(block.block_type) ? block.contentBytes : 0;
}

const WRITTEN_TYPES = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'mcp_tool_use']);

function toBlock(block: JsonObject, context: BlockContext): BlockContent {
  const type = readIdentifier(block.type, context.onIdentifierCut);
  switch (type) {
    case 'text':
      return toTextBlock(toText(block.text), context);
    case 'thinking':
      return toThinkingBlock(block, context);
    case 'tool_use':
      return toToolUseBlock(block, context);
    case 'tool_result':
      return toToolResultBlock(block, context);
    case 'image':
    case 'document':
      return toMediaBlock(type, block, context) ?? toOtherBlock(type, block, context);
    default:
      if (type === null) context.onInvalidContent();
      return toOtherBlock(type ?? 'unknown', block, context);
  }
}

function emptyBlock(blockType: string): BlockContent {
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
    source: undefined,
  };
}

function toTextBlock(text: string, context: BlockContext): BlockContent {
  const block = emptyBlock('text');
  block.content_text = toInlineText(text, block, context);
  return block;
}

function toThinkingBlock(source: JsonObject, context: BlockContext): BlockContent {
  const block = emptyBlock('thinking');
  block.thinking_text = toInlineText(toText(source.thinking), block, context);
  // The text is often withheld; the signature then shows that there was thinking.
  if (typeof source.signature === 'string') {
    block.metadata.signed = true;
    if (block.thinking_text === '') block.contentBytes = toWithheldBytes(source.signature);
  }
  return block;
}

/** Base64 of the thinking, encrypted, and of this much else: so on all signatures whose thinking is there to compare. */
const SIGNATURE_OVERHEAD_CHARACTERS = 240;

function toWithheldBytes(ciphertext: string): number {
  return Math.floor((Math.max(0, ciphertext.length - SIGNATURE_OVERHEAD_CHARACTERS) * 3) / 4);
}

function toToolUseBlock(source: JsonObject, context: BlockContext): BlockContent {
  const block = emptyBlock('tool_use');
  block.tool_name = readIdentifier(source.name, context.onIdentifierCut);
  block.tool_use_id = readIdentifier(source.id, context.onIdentifierCut);
  block.tool_input = toInlineJson(source.input ?? null, block, context);
  return block;
}

function toToolResultBlock(source: JsonObject, context: BlockContext): BlockContent {
  const block = emptyBlock('tool_result');
  block.tool_result_id = readIdentifier(source.tool_use_id, context.onIdentifierCut);
  block.is_error = source.is_error === true;
  const content = source.content;
  if (typeof content === 'string') {
    block.result_text = toInlineText(content, block, context);
  } else if (Array.isArray(content)) {
    const texts = content.flatMap((part) => (typeof part === 'string' ? [part] : toTextOfPart(part)));
    if (texts.length > 0) block.result_text = toInlineText(texts.join('\n'), block, context);
    const others = content.filter((part) => typeof part !== 'string' && toTextOfPart(part).length === 0);
    if (others.length > 0) {
      const { contentBytes } = block;
      block.metadata.other_parts = toInlineJson(others.map(withoutMediaData), block, context);
      block.contentBytes = contentBytes;
    }
  } else if (content !== undefined && content !== null) {
    block.metadata.content = toInlineJson(withoutMediaData(content), block, context);
  }
  return block;
}

function toTextOfPart(part: JsonValue): string[] {
  return isJsonObject(part) && part.type === 'text' && typeof part.text === 'string' ? [part.text] : [];
}

/** Undefined where the block has no `source` to describe. */
function toMediaBlock(type: 'image' | 'document', source: JsonObject, context: BlockContext): BlockContent | undefined {
  const media = readObject(source.source);
  if (media === undefined) return undefined;
  const block = emptyBlock(type);
  for (const field of ['title', 'context'] as const) {
    const value = source[field];
    if (typeof value === 'string') block.metadata[field] = cutCharacters(value, MAX_IDENTIFIER_LENGTH);
  }
  if (media.type === 'text' && typeof media.data === 'string') {
    block.content_text = toInlineText(media.data, block, context);
    block.metadata.media_type = cutCharacters(toText(media.media_type), MAX_IDENTIFIER_LENGTH);
    return block;
  }
  const description = toInlineJson(withoutMediaData(media), block, context);
  block.metadata = { ...(isJsonObject(description) ? description : { source: description }), ...block.metadata };
  return block;
}

function toOtherBlock(type: string, source: JsonObject, context: BlockContext): BlockContent {
  const block = emptyBlock(type);
  const { type: _type, ...rest } = source;
  block.tool_use_id = readIdentifier(source.id, context.onIdentifierCut);
  block.tool_name = readIdentifier(source.name, context.onIdentifierCut);
  block.tool_result_id = readIdentifier(source.tool_use_id, context.onIdentifierCut);
  if (typeof source.is_error === 'boolean') block.is_error = source.is_error;
  block.metadata.content = toInlineJson(withoutMediaData(rest), block, context);
  if (type === 'redacted_thinking') block.contentBytes = toWithheldBytes(toText(source.data));
  return block;
}

/**
 * The value with every base64 source replaced by its description: media never go into rows, their bytes are found in
 * the raw object at the block's line. What is nested deeper than this walk goes is never stored: see limitJson.
 */
function withoutMediaData(value: JsonValue, depth = 0): JsonValue {
  if (typeof value !== 'object' || value === null || depth > MAX_STORED_JSON_DEPTH) return value;
  if (Array.isArray(value)) return value.map((child) => withoutMediaData(child, depth + 1));
  if (typeof value.data === 'string' && isMedia(value)) {
    const { data: _data, ...rest } = value;
    const bytes = Buffer.from(value.data, 'base64');
    return { ...rest, byte_length: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  }
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, withoutMediaData(child, depth + 1)]));
}

/** The Anthropic API names the encoding; MCP servers name the media type alone. */
function isMedia(value: JsonObject): boolean {
  return value.type === 'base64' || /^(image|audio|video)\//.test(toText(value.media_type ?? value.mimeType));
}

function toText(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

type Measured = Pick<BlockContent, 'metadata' | 'contentBytes'>;

function toInlineText(text: string, block: Measured, context: BlockContext): string {
  const limited = limitText(text, context.maxInlineContentBytes, context.isAscii);
  block.contentBytes = limited.byteLength;
  if (limited.isCut) markTruncated(block, limited.byteLength);
  return limited.value;
}

function toInlineJson(value: JsonValue, block: Measured, context: BlockContext): JsonValue {
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'string' ? toInlineText(value, block, context) : value;
  }
  const limited = limitJson(value, context.maxInlineContentBytes, context.isAscii);
  block.contentBytes = limited.byteLength;
  if (limited.isTooDeep) {
    context.onNestingTooDeep();
    block.metadata.truncated = true;
  }
  if (limited.isCut) markTruncated(block, limited.byteLength);
  return limited.value;
}

/** Of several texts that were cut, the length is that of the first: a tool result's text comes before its other parts. */
function markTruncated(block: Measured, originalByteLength: number): void {
  block.metadata.truncated = true;
  block.metadata.original_byte_length ??= originalByteLength;
}
