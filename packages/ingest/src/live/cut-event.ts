import type { LiveEvent } from '@recount/core/live';
import type { NewLiveEvent } from '@recount/db';

/** In characters. Longer texts are cut, and longer inputs left out, because the transcript has them. */
export const MAX_EVENT_TEXT_LENGTH = 64 * 1024;
/** In characters. Longer names, ids and the like are cut, in events and in a stream's row. */
const MAX_NAME_LENGTH = 256;
const MAX_ITEMS = 1000;

/** Fields of events and of what they contain. */
const NAMES: ReadonlySet<string> = new Set([
  ...['agentSessionId', 'checkpoint', 'model', 'name', 'parentToolUseId', 'requestId', 'sessionId', 'stopReason'],
  ...['toolId', 'toolName', 'tools', 'toolUseId', 'uuid', 'version'],
]);
/** Values of any form, and what stands for one that is too long. */
const JSON_FIELDS = new Map<string, unknown>([
  ['input', null],
  ['original', {}],
  ['questions', []],
  ['toolInput', null],
]);

const cutTo = (maxLength: number, text: string): string =>
  text.length <= maxLength ? text : text.slice(0, maxLength).toWellFormed();

export const cutName = <T extends string | null>(name: T): T | string =>
  name === null ? name : cutTo(MAX_NAME_LENGTH, name);

/** The row of an event, of bounded size whatever the agent wrote. */
export function toEventRow(event: LiveEvent): NewLiveEvent {
  let isCut = false;
  const cut = (value: unknown, field: string): unknown => {
    if (typeof value === 'string') {
      const text = NAMES.has(field) ? cutName(value) : cutTo(MAX_EVENT_TEXT_LENGTH, value);
      isCut ||= text !== value;
      return text;
    }
    if (typeof value !== 'object' || value === null) return value;
    if (JSON_FIELDS.has(field)) {
      if (JSON.stringify(value).length <= MAX_EVENT_TEXT_LENGTH) return value;
      isCut = true;
      return JSON_FIELDS.get(field);
    }
    if (Array.isArray(value)) {
      isCut ||= value.length > MAX_ITEMS;
      return value.slice(0, MAX_ITEMS).map((item) => cut(item, field));
    }
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, cut(item, name)]));
  };
  const fields = cut(event, '') as LiveEvent;
  return { name: event.type, data: JSON.stringify(isCut ? { ...fields, isCut } : fields) };
}
