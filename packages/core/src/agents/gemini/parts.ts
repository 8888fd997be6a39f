import { cutCharacters, readObject, readText } from '../../records/fields.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';

/** The parts of a message's content, which may also be a single part or a text. */
export function toParts(content: JsonValue | undefined): JsonValue[] {
  if (Array.isArray(content)) return content;
  return content === undefined || content === null ? [] : [content];
}

/** All text of the parts. */
export function toText(content: JsonValue | undefined): string {
  return toParts(content)
    .flatMap((part) => (typeof part === 'string' ? part : (readText(readObject(part)?.text) ?? [])))
    .join('');
}

/** Converts parts of the Gemini API to blocks of the Anthropic API; results become blocks without content. */
export function toApiBlocks(content: JsonValue | undefined): JsonObject[] {
  return toParts(content).flatMap((part): JsonObject[] => {
    if (typeof part === 'string') return part === '' ? [] : [{ type: 'text', text: part }];
    const block = readObject(part);
    if (block === undefined) return [];
    const { text, inlineData, functionResponse } = block;
    if (typeof text === 'string') return text === '' ? [] : [{ type: 'text', text }];
    if (functionResponse !== undefined) return [{ type: 'tool_result' }];
    const media = readObject(inlineData);
    if (media === undefined) return [{ type: cutCharacters(Object.keys(block)[0] ?? 'unknown', 64), ...block }];
    return [
      { type: 'image', source: { type: 'base64', media_type: media.mimeType ?? null, data: media.data ?? null } },
    ];
  });
}
