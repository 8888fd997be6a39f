import type { JsonValue } from '../lines/json.ts';
import { cutText, isJsonObject } from '../records/fields.ts';
import { CONTEXT_HEADINGS, REQUEST_HEADING } from './codex/injected-context.ts';

/** Longer titles are cut. */
export const MAX_TITLE_CHARACTERS = 120;

/** UTF-16 units of a text that are searched for its title. Stored first prompts are shorter. */
const MAX_SEARCHED_LENGTH = 4000;
/** Elements and JSON values that may surround a request. */
const MAX_WRAPPERS = 20;
/** A shorter line that ends in a colon is joined with the line that it announces. */
const MAX_ANNOUNCEMENT_LENGTH = 60;

/** Elements that agents and their clients write into a prompt, and that hold nothing of the request. */
const HIDDEN_ELEMENT =
  /^(?:system[-_].*|local-command-.*|bash-std.*|task-notification|user-prompt-submit-hook|ide_.*|environment_.*|user_instructions|instructions|permissions|source_thread_id|timestamp|user_info|attached_files|open_and_recently_viewed_files|project_layout|.*[-_]context)$/i;
const OPENING_TAG = /^<([a-z][\w-]{0,60})(?:\s[^<>]{0,500})?>/i;

/** Lines that announce a plan, whose heading says more. */
const PLAN_ANNOUNCEMENT =
  /^(?:please )?(?:implement|execute|follow|carry out) (?:the|this) (?:following |attached )?plan\b[^a-z0-9]*$/i;
const PLAN_MARK = /^(?:implementation )?plan ?:\s+(?=\S)/i;
const EMPTY_HEADING = /^#{1,6}\s+(?:implementation )?(?:plan|context|overview|summary|task|goal|background):?\s*$/i;
/** Rules, fences and pictures. */
const EMPTY_LINE = /^(?:[-=*_~#>|\s]*|(?:```|~~~).*|\[(?:image|pasted text)[^\]]*\])$/i;
const LINE_MARK = /^(?:#{1,6}|[-*+•>])\s+/;
const LINK = /!?\[([^\]\n]{1,200})\]\([^)\n]{0,1000}\)?/g;
const SENTENCE_END = /[.?!:;]$/;
/** A line that a terminal or editor has broken. */
const CONTINUATION = /^\s*[\p{Ll}@(]/u;

const JSON_START = /^(?:\{\s*"|\[\s*[[{"])/;
/** Members of a JSON object that may hold the request, the best first. */
const TEXT_MEMBERS = ['title', 'prompt', 'task', 'request', 'question', 'message', 'text', 'content', 'description'];

/** All that may name a session. */
export interface TitleSources {
  /** Given by a user of recount. */
  givenTitle?: string | null | undefined;
  /** As the agent states it. */
  agentTitle: string | null;
  /** May be cut. */
  initialPrompt: string | null;
  sessionId: string;
}

/**
 * Returns the title of a session, one line of at most MAX_TITLE_CHARACTERS. It is what a user calls it, or else the
 * agent's own title, or else the first line of the first prompt that says what was asked, or else its ID.
 */
export function toSessionTitle({ givenTitle, agentTitle, initialPrompt, sessionId }: TitleSources): string {
  for (const text of [givenTitle, agentTitle, initialPrompt]) {
    const title = text == null ? undefined : findTitle(text);
    if (title !== undefined) return title;
  }
  return sessionId;
}

/** A prompt in one line of at most MAX_TITLE_CHARACTERS, see `toSessionTitle`; undefined if it says nothing. */
export const toPromptTitle = (prompt: string): string | undefined => findTitle(prompt);

function findTitle(prompt: string): string | undefined {
  let text = prompt.slice(0, MAX_SEARCHED_LENGTH).trim();
  for (let count = 0; count < MAX_WRAPPERS; count++) {
    const inner = unwrap(text);
    if (inner === undefined) return toTitleLine(text);
    text = inner.trim();
  }
  return toTitleLine(text);
}

/** The text without what surrounds the request at its beginning; undefined if nothing does. */
function unwrap(text: string): string | undefined {
  const [tag, name = ''] = OPENING_TAG.exec(text) ?? [];
  if (tag !== undefined) {
    const end = text.indexOf(`</${name}>`, tag.length);
    const isHidden = HIDDEN_ELEMENT.test(name);
    const inside = isHidden ? '' : text.slice(tag.length, end === -1 ? undefined : end);
    const behind = end === -1 ? '' : text.slice(end + name.length + 3);
    return isClosingOnly(behind) ? inside : behind;
  }
  if (CONTEXT_HEADINGS.some((heading) => text.startsWith(heading))) {
    const request = [...text.matchAll(REQUEST_HEADING)].at(-1);
    return request === undefined
      ? text.slice(text.indexOf('\n') + 1 || text.length)
      : text.slice(request.index + request[0].length);
  }
  return JSON_START.test(text) ? readJsonText(text) : undefined;
}

/** True if only ends of elements follow. */
const isClosingOnly = (text: string): boolean => text.replace(/<\/[a-z][\w-]*>/gi, '').trim() === '';

/** The best text of a JSON value, which may be cut; empty if it has none. */
function readJsonText(json: string): string {
  try {
    return findText(JSON.parse(json) as JsonValue) ?? '';
  } catch {
    for (const member of TEXT_MEMBERS) {
      const found = new RegExp(`"${member}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)`).exec(json)?.[1];
      if (found !== undefined && found.trim() !== '')
        return found.replace(/\\[nrt]/g, '\n').replace(/\\(["\\/])/g, '$1');
    }
    return '';
  }
}

function findText(value: JsonValue | undefined, depth = 0): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (depth >= MAX_WRAPPERS) return undefined;
  const inner = Array.isArray(value)
    ? value
    : isJsonObject(value)
      ? TEXT_MEMBERS.map((member) => (Object.hasOwn(value, member) ? value[member] : undefined))
      : [];
  for (const each of inner) {
    const text = findText(each, depth + 1);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** The first line that says something, with the line that it announces or that continues it. */
function toTitleLine(text: string): string | undefined {
  const lines = text.split(/\r\n|[\n\r]/);
  const plain = lines.map(toPlainLine);
  const isMeaningful = (line: string): boolean => line !== '';
  let index = plain.findIndex((line) => isMeaningful(line) && !PLAN_ANNOUNCEMENT.test(line));
  if (index === -1) index = plain.findIndex(isMeaningful);
  let title = plain[index];
  if (title === undefined) return undefined;
  if (title.endsWith(':') && title.length <= MAX_ANNOUNCEMENT_LENGTH) {
    return cutText([title, plain.slice(index + 1).find(isMeaningful) ?? ''].join(' ').trim(), MAX_TITLE_CHARACTERS);
  }
  for (const [place, line] of lines.entries()) {
    if (place <= index) continue;
    if (title.length > MAX_TITLE_CHARACTERS || SENTENCE_END.test(title) || !CONTINUATION.test(line)) break;
    title = `${title} ${plain[place]}`;
  }
  return cutText(title, MAX_TITLE_CHARACTERS);
}

/** A line without Markdown's marks; empty if it says nothing. */
function toPlainLine(line: string): string {
  const trimmed = line.replace(/[\p{Cc}\u2028\u2029\s]+/gu, ' ').trim();
  if (EMPTY_LINE.test(trimmed) || EMPTY_HEADING.test(trimmed)) return '';
  const text = trimmed.replace(LINE_MARK, '').replace(LINK, '$1').replaceAll('**', '').replace(PLAN_MARK, '');
  return text.trim();
}
