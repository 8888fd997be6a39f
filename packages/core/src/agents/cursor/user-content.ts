import type { JsonValue } from '../../lines/json.ts';
import { readObject, readText } from '../../records/fields.ts';

/**
 * Tags of what Cursor adds to a person's message, as public readers of its transcripts and store list them (seen up to
 * November 2026). Others count if their name has an underscore, as all of Cursor's own have.
 */
const ADDED_TAGS: ReadonlySet<string> = new Set(['context', 'rules', 'timestamp', 'image']);
const OPENING_TAG = /^<([a-z][a-z_]*)(?:\s[^<>]*)?(\/)?>/;
const QUERY_START = '<user_query>';
const QUERY_END = '</user_query>';

interface UserContent {
  /** Text that Cursor wrote in the person's name. */
  added: JsonValue[];
  /** The person's words, without tags, and the pictures of the message. */
  typed: JsonValue[];
}

/** Tells what a person typed, which is inside `<user_query>`, from what Cursor put around it. */
export function splitUserContent(content: JsonValue | undefined): UserContent {
  const elements = Array.isArray(content) ? content : [content ?? ''];
  const hasQuery = elements.some((element) => toText(element)?.includes(QUERY_START));
  const split: UserContent = { added: [], typed: [] };
  for (const element of elements) {
    const text = toText(element);
    const parts = text === null ? undefined : hasQuery ? splitQueries(text) : splitAdded(text);
    if (parts === undefined) split.typed.push(element);
    else if (parts.typed === text && text !== '') split.typed.push(element);
    else {
      if (parts.added !== '') split.added.push({ type: 'text', text: parts.added });
      if (parts.typed !== '') split.typed.push({ type: 'text', text: parts.typed });
    }
  }
  return split;
}

function toText(element: JsonValue): string | null {
  return readText(element) ?? readText(readObject(element)?.text);
}

interface SplitText {
  added: string;
  typed: string;
}

function splitQueries(text: string): SplitText {
  const added: string[] = [];
  const typed: string[] = [];
  let position = 0;
  for (;;) {
    const start = text.indexOf(QUERY_START, position);
    added.push(text.slice(position, start === -1 ? undefined : start).trim());
    if (start === -1) break;
    const from = start + QUERY_START.length;
    const next = text.indexOf(QUERY_START, from);
    // The query may quote the closing tag. Without one, the text was cut.
    const end = text.slice(0, next === -1 ? undefined : next).lastIndexOf(QUERY_END);
    typed.push(text.slice(from, end < from ? undefined : end).trim());
    if (end < from) break;
    position = end + QUERY_END.length;
  }
  const join = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n\n');
  return { added: join(added), typed: join(typed) };
}

/** Texts without a query. Tags at the beginning were added. */
function splitAdded(text: string): SplitText {
  let rest = text;
  for (;;) {
    const trimmed = rest.trimStart();
    const [opening, tag = '', isEmpty] = OPENING_TAG.exec(trimmed) ?? [];
    if (opening === undefined || !(tag.includes('_') || ADDED_TAGS.has(tag))) break;
    const close = `</${tag}>`;
    const at = isEmpty === undefined ? trimmed.indexOf(close) : 0;
    if (at === -1) break;
    rest = trimmed.slice(isEmpty === undefined ? at + close.length : opening.length);
  }
  return rest === text
    ? { added: '', typed: text }
    : { added: text.slice(0, text.length - rest.length).trim(), typed: rest.trim() };
}
