import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readObject, readText } from '../../records/fields.ts';
import { parseJsonText } from '../reader-kit.ts';

const DATA_URL = /^data:([^;,]*);base64,/;
/** Text that Cline appends to a result if the task changed files. */
const CHANGES_FLAG = /HAS_CHANGES$/;

/** Images of an entry, each a data URL or a path, as blocks of the Anthropic API. */
export function toImages(images: JsonValue | undefined): JsonObject[] {
  return (Array.isArray(images) ? images : []).flatMap((image): JsonObject[] => {
    const url = readText(image);
    if (url === null) return [];
    const [prefix, mediaType = ''] = DATA_URL.exec(url) ?? [];
    if (prefix === undefined) return [{ type: 'image', source: { type: 'url', url } }];
    return [{ type: 'image', source: { type: 'base64', media_type: mediaType, data: url.slice(prefix.length) } }];
  });
}

/**
 * The model's words, which are a text, or `{"question":"…","options":["…"]}` of a question, with `response` for a plan
 * and `suggest:[{"answer":"…"}]` in Roo Code. The choices follow the question as a list.
 */
export function toSaid(text: string): JsonObject[] {
  const fields = text.startsWith('{') ? readObject(parseJsonText(text)) : undefined;
  const said = readText(fields?.response) ?? readText(fields?.question) ?? text.replace(CHANGES_FLAG, '');
  const choices = [fields?.options, fields?.suggest].flatMap((list) => (Array.isArray(list) ? list : []));
  const lines = choices.flatMap((choice) => readText(choice) ?? readText(readObject(choice)?.answer) ?? []);
  const whole = [said, ...lines.map((line) => `- ${line}`)].join('\n');
  return whole === '' ? [] : [{ type: 'text', text: whole }];
}
