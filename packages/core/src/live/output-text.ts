import type { BlockContent } from '../agents/records.ts';
import { isJsonObject, readObject, readText } from '../records/fields.ts';
import type { JsonValue } from '../rows.ts';

/**
 * A tool result as text for people: texts as they are, an image or a file by its media type and size, anything else as
 * its JSON. Empty only if the result is.
 */
export function toOutputText({ result_text: text, metadata }: BlockContent): string {
  const { content, other_parts: others } = metadata;
  const parts = Array.isArray(others) ? others : others === undefined ? [] : [others];
  const texts = [...parts, ...(content === undefined ? [] : [content])].map(toPartText);
  return [...(text === null ? [] : [text]), ...texts].join('\n');
}

function toPartText(part: JsonValue): string {
  if (typeof part === 'string') return part;
  return toMediaText(part) ?? JSON.stringify(part);
}

/** Undefined for what is no media; their data have been replaced by their size already. */
function toMediaText(part: JsonValue): string | undefined {
  if (!isJsonObject(part)) return undefined;
  const media = readObject(part.source) ?? part;
  const type = readText(media.media_type) ?? readText(media.mimeType);
  const bytes = media.byte_length;
  return type !== null && typeof bytes === 'number' ? `[${type}, ${bytes} bytes]` : undefined;
}
