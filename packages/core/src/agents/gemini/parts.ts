import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, readObject, readText } from '../../records/fields.ts';
import { parseJsonText } from '../reader-kit.ts';

/** The parts of a message's content, which may also be a single part or a text. */
export function toParts(content: JsonValue | undefined): JsonValue[] {
  if (Array.isArray(content)) return content;
  return content === undefined || content === null ? [] : [content];
}

const PART_FIELDS = ['text', 'functionCall', 'functionResponse', 'inlineData', 'fileData'];

/** The parts of a content that was stored as JSON in a text; any other content unchanged. */
export function readStoredParts(content: JsonValue | undefined): JsonValue | undefined {
  if (typeof content !== 'string' || !/^\s*[[{]/.test(content)) return content;
  const stored = parseJsonText(content);
  const parts = [stored ?? null].flat();
  const arePartsOnly =
    parts.length > 0 && parts.every((part) => PART_FIELDS.some((field) => field in (readObject(part) ?? {})));
  return arePartsOnly ? stored : content;
}

/** The name of a session; some models answer with JSON, `{"summary":"…"}`. Null if there is no title in it. */
export function readTitle(value: JsonValue | undefined): string | null {
  const text = readText(value)?.trim() ?? '';
  const json = /^(?:```(?:json)?\s*)?([[{][\s\S]*[\]}])\s*(?:```)?$/.exec(text)?.[1];
  const stored = json === undefined ? undefined : parseJsonText(json);
  if (stored === undefined) return text === '' ? null : text;
  const [first] = [stored].flat();
  const fields = readObject(first);
  const title = readText(first) ?? readText(fields?.summary) ?? readText(fields?.title) ?? readText(fields?.text);
  return title === null || title.trim() === '' ? null : title.trim();
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
