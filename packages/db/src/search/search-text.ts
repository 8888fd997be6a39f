import { hash } from 'node:crypto';
import type { JsonObject, JsonValue, MessageType, ParsedContentBlock } from '@recount/core';
import type { SearchKind } from '../schema/search.ts';
import { toSearchableEnd } from './search-words.ts';
import type { TextRole } from './segment-documents.ts';

/** Length of a searchable text in UTF-16 units. Text beyond it cannot be found. */
export const MAX_TEXT_LENGTH = 65_536;

/** The fields of a content block that its text is made of. */
export type TextBlock = Pick<
  ParsedContentBlock,
  'block_type' | 'content_text' | 'thinking_text' | 'tool_name' | 'tool_input' | 'result_text' | 'metadata'
>;

/** The fields of a block's message that decide which kind of text it is, and what it is a copy of. */
export interface TextMessage {
  message_id: string;
  message_type: MessageType;
  provider_message_id: string | null;
  uuid: string | null;
  is_compact_summary: boolean;
}

/** The whole text of a block; undefined for one without text, such as an image. */
export function toBlockText(block: TextBlock): { role: Exclude<TextRole, 'prompt'>; text: string } | undefined {
  const content = toContent(block);
  return content === undefined || !/\S/.test(content.text) ? undefined : content;
}

function toContent(block: TextBlock): ReturnType<typeof toBlockText> {
  const { block_type: type } = block;
  if (type === 'thinking') return { role: 'thinking', text: block.thinking_text ?? '' };
  // `server_tool_use`, `web_search_tool_result` and the like have their content in the metadata.
  if (type.endsWith('tool_use')) {
    const input = block.tool_input ?? toObject(block.metadata.content).input ?? null;
    return { role: 'tool_input', text: [block.tool_name ?? '', ...toLines(input)].join('\n') };
  }
  if (type.endsWith('tool_result')) {
    const content = block.result_text ?? [...toLines(toObject(block.metadata.content).content ?? null)].join('\n');
    return { role: 'tool_result', text: content };
  }
  return block.content_text === null ? undefined : { role: 'text', text: block.content_text };
}

const toObject = (value: JsonValue | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};

/** The scalars of a JSON value, each with its name, so that escapes do not split words. */
function* toLines(value: JsonValue, name = ''): Generator<string> {
  if (value === null) return;
  if (typeof value !== 'object') yield name === '' ? String(value) : `${name}: ${value}`;
  else if (Array.isArray(value)) for (const child of value) yield* toLines(child, name);
  else for (const [key, child] of Object.entries(value)) if (!OPAQUE_FIELDS.has(key)) yield* toLines(child, key);
}

/** Ciphertext. */
const OPAQUE_FIELDS = new Set(['encrypted_content', 'encrypted_index', 'signature']);

/** As much of its beginning as can be found, without splitting a character; tokens may be of a little more. */
export const cutText = (text: string): string =>
  text.length <= MAX_TEXT_LENGTH ? text : text.slice(0, MAX_TEXT_LENGTH).replace(/[\uD800-\uDBFF]$/, '');

/** The part of a text that can be found, without words beyond the most that it may have. */
export function toSearchableText(text: string): string {
  const cut = cutText(text);
  return cut.slice(0, toSearchableEnd(cut));
}

/** The kind of a text by its role in its block, and its message. */
export function toSearchKind(
  role: TextRole,
  message: Pick<TextMessage, 'message_type' | 'is_compact_summary'>,
): SearchKind {
  if (role !== 'text' && role !== 'prompt') return role;
  if (message.message_type === 'summary' || message.is_compact_summary) return 'summary';
  if (message.message_type === 'assistant') return 'answer';
  return role === 'prompt' ? 'prompt' : 'context';
}

/** The same for the same text of the same response or line, wherever it was copied to. */
export function toCopyKey(message: TextMessage, kind: SearchKind, text: string): string {
  const id = message.provider_message_id ?? message.uuid ?? message.message_id;
  return `${id}\n${kind}\n${hash('sha256', text)}`;
}
