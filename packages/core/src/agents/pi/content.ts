import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readObject } from '../../records/fields.ts';

/** A system message's text, and since Pi 1.5 its named sections, which are the system prompt. */
export function toInstructions({ content, sections }: JsonObject): JsonValue {
  const texts = Object.values(readObject(sections) ?? {}).filter((text) => typeof text === 'string' && text !== '');
  const blocks = texts.map((text) => ({ type: 'text', text }));
  const own = toApiContent(content);
  if (blocks.length === 0) return own;
  return [...(own === '' || own === null ? [] : Array.isArray(own) ? own : [own]), ...blocks];
}

/** Pi's blocks in the shape of the Anthropic API. */
export function toApiContent(content: JsonValue | undefined): JsonValue {
  if (!Array.isArray(content)) return content ?? null;
  return content.map((element) => {
    const block = readObject(element);
    if (block?.type === 'image') {
      return {
        type: 'image',
        source: { type: 'base64', media_type: block.mimeType ?? null, data: block.data ?? null },
      };
    }
    if (block?.type === 'thinking') return { ...block, signature: block.thinkingSignature ?? null };
    return element;
  });
}
