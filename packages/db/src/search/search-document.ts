import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue, MessageType } from '@recount/core';
import type { SearchKind, searchDocuments } from '../schema/search.ts';
import { toGrams, toWordVector } from './search-words.ts';

/** Length of a document in UTF-16 units. Text beyond it cannot be found. */
export const MAX_DOCUMENT_LENGTH = 65_536;

/** A content block with the fields of its message that a document needs. */
export interface SearchableBlock {
  message_id: string;
  block_order: number;
  block_type: string;
  content_text: string | null;
  thinking_text: string | null;
  tool_name: string | null;
  tool_input: JsonValue;
  result_text: string | null;
  metadata: JsonObject;
  line_number: number;
  byte_offset: number;
  message_type: MessageType;
  timestamp: string | null;
  provider_message_id: string | null;
  uuid: string | null;
  is_subagent: boolean;
  /** A person wrote the line. */
  is_prompt: boolean;
  is_compact_summary: boolean;
}

type SearchDocument = typeof searchDocuments.$inferInsert;

/** The document for a block; undefined for one without text, such as an image. */
export function toSearchDocument(
  key: { workspaceId: string; sessionId: string },
  block: SearchableBlock,
): SearchDocument | undefined {
  const content = toContent(block);
  const whole = content?.text.trim() === '' ? undefined : content?.text;
  if (content === undefined || whole === undefined) return undefined;
  const limited = cutText(whole);
  const { vector, end } = toWordVector(limited, content.kind, key.workspaceId);
  const text = limited.slice(0, end);
  return {
    workspace_id: key.workspaceId,
    session_id: key.sessionId,
    message_id: block.message_id,
    block_order: block.block_order,
    kind: content.kind,
    timestamp: block.timestamp,
    is_subagent: block.is_subagent,
    line_number: block.line_number,
    byte_offset: block.byte_offset,
    copy_key: toCopyKey(block, content.kind, text),
    is_cut: block.metadata.truncated === true || text.length < whole.length,
    text,
    words: vector,
    grams: toGrams(text),
  };
}

/** The same for the same text of the same response or line, wherever it was copied to. */
function toCopyKey(block: SearchableBlock, kind: SearchKind, text: string): bigint {
  const message = block.provider_message_id ?? block.uuid ?? block.message_id;
  const digest = createHash('sha256')
    .update(JSON.stringify([message, kind, text]))
    .digest();
  return digest.readBigInt64BE();
}

function toContent(block: SearchableBlock): { kind: SearchKind; text: string } | undefined {
  const { block_type: type } = block;
  if (type === 'thinking') return { kind: 'thinking', text: block.thinking_text ?? '' };
  // `server_tool_use`, `web_search_tool_result` and the like have their content in the metadata.
  const other = toObject(block.metadata.content);
  if (type.endsWith('tool_use')) {
    const lines = [block.tool_name ?? '', ...toLines(block.tool_input ?? other.input ?? null)];
    return { kind: 'tool_input', text: lines.join('\n') };
  }
  if (type.endsWith('tool_result')) {
    return { kind: 'tool_result', text: block.result_text ?? [...toLines(other.content ?? null)].join('\n') };
  }
  return block.content_text === null ? undefined : { kind: toTextKind(block), text: block.content_text };
}

function toTextKind({ message_type: type, is_prompt, is_compact_summary }: SearchableBlock): SearchKind {
  if (type === 'summary' || is_compact_summary) return 'summary';
  if (type === 'assistant') return 'answer';
  return is_prompt ? 'prompt' : 'context';
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

/** As much of its beginning as a document may hold, without splitting a character. */
function cutText(text: string): string {
  return text.slice(0, MAX_DOCUMENT_LENGTH).replace(/[\uD800-\uDBFF]$/, '');
}
