import { createHash } from 'node:crypto';
import { readUncutLength } from '../../lines/cut-mark.ts';
import { MAX_STORED_JSON_DEPTH } from '../../lines/inline-limit.ts';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import {
  cutCharacters,
  isJsonObject,
  MAX_IDENTIFIER_LENGTH,
  readIdentifier,
  readObject,
  toFlag,
} from '../../records/fields.ts';
import { newBlock } from '../../records/new-records.ts';
import type { BlockContent } from '../../records/records.ts';
import { type InlineContext, toInlineJson, toInlineText } from '../inline-content.ts';

/** A block with the element that it was read from. */
export interface ApiBlock extends BlockContent {
  /** Undefined for plain text. */
  source: JsonObject | undefined;
}

export interface BlockContext extends InlineContext {
  onIdentifierCut: () => void;
  /** Called for a block of a type that is stored as it is, because no rule reads it. */
  onUnknownBlock: (type: string) => void;
  /**
   * Called for a field that a block must have, such as `tool_use.id`, if it is missing or no text or id. Not set by
   * agents whose blocks need not have them.
   */
  onMissingField?: (name: string) => void;
  /** Called for an element that is not a content block at all, e.g. a number. */
  onInvalidContent: () => void;
  onTooManyBlocks: (droppedCount: number) => void;
}

/** A line of 64 MiB could hold millions of empty blocks; the largest count in real transcripts is 61. */
export const MAX_BLOCKS_PER_LINE = 10_000;

/** The content blocks of a message. A string is one text block; null and the empty string have none. */
export function toContentBlocks(content: JsonValue | undefined, context: BlockContext): ApiBlock[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content !== 'object') return [toBareText(String(content), context)];
  const elements = Array.isArray(content) ? content : [content];
  if (elements.length > MAX_BLOCKS_PER_LINE) context.onTooManyBlocks(elements.length - MAX_BLOCKS_PER_LINE);
  const blocks: ApiBlock[] = [];
  for (const [index, element] of elements.entries()) {
    if (index === MAX_BLOCKS_PER_LINE) break;
    if (typeof element === 'string') blocks.push(toBareText(element, context));
    else if (isJsonObject(element)) {
      const block = toBlock(element, context);
      block.source = element;
      if (WRITTEN_TYPES.has(block.block_type)) block.writtenBytes = block.contentBytes;
      blocks.push(block);
    } else context.onInvalidContent();
  }
  return blocks;
}

/** Blocks that the model writes. Results of the API's own tools do not count as its output. */
const WRITTEN_TYPES = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'mcp_tool_use']);

/** Blocks that are stored as they are. They come from the API's own tools and from agents. */
const OTHER_TYPES = new Set(
  `redacted_thinking server_tool_use mcp_tool_use mcp_tool_result container_upload compaction fallback tool_reference
  web_search_tool_result web_fetch_tool_result code_execution_tool_result bash_code_execution_tool_result
  text_editor_code_execution_tool_result tool_search_tool_result advisor_tool_result search_result mcp_tool_listing
  tool_addition tool_removal`.split(/\s+/),
);

function toBlock(block: JsonObject, context: BlockContext): ApiBlock {
  const type = readIdentifier(block.type, context.onIdentifierCut);
  switch (type) {
    case 'text':
      return toTextBlock(requireText('text', block.text, context), context);
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
      else if (!OTHER_TYPES.has(type)) context.onUnknownBlock(type);
      return toOtherBlock(type ?? 'unknown', block, context);
  }
}

function emptyBlock(blockType: string): ApiBlock {
  return { ...newBlock(blockType), source: undefined };
}

function toBareText(text: string, context: BlockContext): ApiBlock {
  const block = toTextBlock(text, context);
  block.writtenBytes = block.contentBytes;
  return block;
}

function toTextBlock(text: string, context: BlockContext): ApiBlock {
  const block = emptyBlock('text');
  block.content_text = toInlineText(text, block, context);
  return block;
}

function toThinkingBlock(source: JsonObject, context: BlockContext): ApiBlock {
  const block = emptyBlock('thinking');
  block.thinking_text = toInlineText(requireText('thinking', source.thinking, context), block, context);
  // The text is often withheld; a signature shows that there was thinking.
  if (typeof source.signature === 'string') {
    block.metadata.signed = true;
    if (block.thinking_text === '') block.contentBytes = toWithheldBytes(source.signature);
  }
  return block;
}

/**
 * A signature is base64 of the encrypted thinking plus this overhead, measured on all signatures with visible thinking
 * text.
 */
const SIGNATURE_OVERHEAD_CHARACTERS = 240;

/** Bytes of the thinking that a signature stands for. */
export function toWithheldBytes(ciphertext: string): number {
  return Math.floor((Math.max(0, ciphertext.length - SIGNATURE_OVERHEAD_CHARACTERS) * 3) / 4);
}

function toToolUseBlock(source: JsonObject, context: BlockContext): ApiBlock {
  const block = emptyBlock('tool_use');
  block.tool_name = requireIdentifier('tool_use.name', source.name, context);
  block.tool_use_id = requireIdentifier('tool_use.id', source.id, context);
  const input = source.input ?? undefined;
  if (input === undefined) context.onMissingField?.('tool_use.input');
  // The model has written nothing, so no bytes are counted.
  block.tool_input = input === undefined ? {} : toInlineJson(input, block, context);
  return block;
}

function toToolResultBlock(source: JsonObject, context: BlockContext): ApiBlock {
  const block = emptyBlock('tool_result');
  block.tool_result_id = requireIdentifier('tool_result.tool_use_id', source.tool_use_id, context);
  block.is_error = toFlag(source.is_error) ?? false;
  const content = toResultContent(source);
  if (typeof content === 'string') {
    block.result_text = toInlineText(content, block, context);
  } else if (Array.isArray(content)) {
    const texts = content.flatMap((part) => (typeof part === 'string' ? [part] : toTextOfPart(part)));
    if (texts.length > 0) block.result_text = toInlineText(texts.join('\n'), block, context);
    const others = content.filter((part) => typeof part !== 'string' && toTextOfPart(part).length === 0);
    if (others.length > 0) {
      const { contentBytes } = block;
      block.metadata.other_parts = toInlineJson(
        others.map((part) => withoutMediaData(part, context)),
        block,
        context,
      );
      block.contentBytes = contentBytes;
    }
  } else if (content !== undefined && content !== null) {
    block.metadata.content = toInlineJson(withoutMediaData(content, context), block, context);
  }
  return block;
}

/** Some agents state why a tool failed in a separate field, beside an empty result. */
function toResultContent({ content, error }: JsonObject): JsonValue | undefined {
  const isEmpty = content === undefined || content === null || content === '';
  return isEmpty && typeof error === 'string' ? error : content;
}

function toTextOfPart(part: JsonValue): string[] {
  return isJsonObject(part) && part.type === 'text' && typeof part.text === 'string' ? [part.text] : [];
}

/** Undefined if the block has no `source`. */
function toMediaBlock(type: 'image' | 'document', source: JsonObject, context: BlockContext): ApiBlock | undefined {
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
  const description = toInlineJson(withoutMediaData(media, context), block, context);
  block.metadata = { ...(isJsonObject(description) ? description : { source: description }), ...block.metadata };
  return block;
}

function toOtherBlock(type: string, source: JsonObject, context: BlockContext): ApiBlock {
  const block = emptyBlock(type);
  const { type: _type, ...rest } = source;
  block.tool_use_id = readIdentifier(source.id, context.onIdentifierCut);
  block.tool_name = readIdentifier(source.name, context.onIdentifierCut);
  block.tool_result_id = readIdentifier(source.tool_use_id, context.onIdentifierCut);
  if (typeof source.is_error === 'boolean') block.is_error = source.is_error;
  block.metadata.content = toInlineJson(withoutMediaData(rest, context), block, context);
  if (type === 'redacted_thinking') block.contentBytes = toWithheldBytes(toText(source.data));
  return block;
}

/**
 * Replaces every base64 source by its description. Media are never stored in rows, their bytes are in the raw object at
 * the block's line. Values nested deeper than the walk goes are never stored, see limitJson.
 */
function withoutMediaData(value: JsonValue, context: BlockContext, depth = 0): JsonValue {
  if (typeof value !== 'object' || value === null || depth > MAX_STORED_JSON_DEPTH) return value;
  if (Array.isArray(value)) return value.map((child) => withoutMediaData(child, context, depth + 1));
  if (typeof value.data === 'string' && isMedia(value)) {
    const { data: _data, ...rest } = value;
    if (context.isUnmeasured) return { ...rest, byte_length: Buffer.byteLength(value.data, 'base64') };
    const uncutLength = readUncutLength(value.data);
    if (uncutLength !== undefined) return { ...rest, byte_length: Math.floor((uncutLength * 3) / 4) };
    const bytes = Buffer.from(value.data, 'base64');
    return { ...rest, byte_length: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, withoutMediaData(child, context, depth + 1)]),
  );
}

/** The Anthropic API states the encoding; MCP servers state only the media type. */
function isMedia(value: JsonObject): boolean {
  return value.type === 'base64' || /^(image|audio|video)\//.test(toText(value.media_type ?? value.mimeType));
}

/** The text of a `text` or `thinking` block, whose field has the name of its type; empty if there is none. */
function requireText(type: 'text' | 'thinking', value: JsonValue | undefined, context: BlockContext): string {
  if (value === undefined || typeof value === 'object') context.onMissingField?.(`${type}.${type}`);
  return toText(value);
}

function requireIdentifier(name: string, value: JsonValue | undefined, context: BlockContext): string | null {
  const identifier = readIdentifier(value, context.onIdentifierCut);
  if (identifier === null) context.onMissingField?.(name);
  return identifier;
}

/** Numbers and flags become their text. */
function toText(value: JsonValue | undefined): string {
  return value === undefined || typeof value === 'object' ? '' : String(value);
}
