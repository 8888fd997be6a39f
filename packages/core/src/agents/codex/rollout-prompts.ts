import type { JsonValue } from '../../lines/json.ts';
import { cutCharacters, isJsonObject, readObject, readText } from '../../records/fields.ts';
import { parseJsonText } from '../reader-kit.ts';
import {
  CONTEXT_BEGINNINGS,
  CONTEXT_HEADINGS,
  CONTEXT_TAG_PREFIX,
  CONTEXT_TAGS,
  REQUEST_HEADING,
} from './injected-context.ts';

const MAX_PROMPT_CHARACTERS = 1000;

const OPENING_TAG = /^<(permissions instructions|[A-Za-z][\w-]*)(?:\s[^>]*)?>/;
/** `<image name=[Image #1]>` and `</image>` surround a picture, each in a separate part. */
const MEDIA_TAG = /^<\/?(?:image|audio)(?: name=[^>\n]*)?>[ \t]*(?=\n|<|$)/;
/**
 * `<realtime_delegation><input>…</input>…` is a person's words, see codex-rs/core/src/context/realtime_delegation.rs.
 */
const SPOKEN = /^<realtime_delegation>[\s\S]*?<input>([\s\S]*?)<\/input>/;
const SPOKEN_TAIL = /^<realtime_delegation>\s*<source>transcript_tail_flush<\/source>/;
/** `[{"question":"…","answer":"…"}]` are answers to questions that the agent did not wait for. */
const ANSWERS = /^<send_user_message_question_reply>([\s\S]*)<\/send_user_message_question_reply>$/;
/** A person's words beside a line of a diff or an element of a page. */
const COMMENT = /^Comment:[ \t]*\n?((?:(?!\n\s*\n|\n#)[\s\S])*)/gm;
const HEADING_LINE = /^#{1,2} [^\n]{1,80}:[ \t]*(?:\n|$)/;

/** The rest of a text besides the additions. */
interface TypedPart {
  text: string;
  /** The text has a heading for the request. */
  isRequest: boolean;
  /** The text begins like one that was added, but has no heading for a request. It may be a person's. */
  isDoubtful: boolean;
}

/**
 * A person's words in a user item, cut to 1,000 characters and `...`; undefined if no person typed it, empty if a
 * request has no words. `kinds` says what wrote each part (`content_item_kinds`, from 0.155 on).
 */
export function toTypedText(content: JsonValue | undefined, kinds?: JsonValue): string | undefined {
  const parts = typeof content === 'string' ? [content] : Array.isArray(content) ? content : [];
  const known = Array.isArray(kinds) && kinds.length === parts.length ? kinds : undefined;
  const typed = parts.flatMap((part, index): TypedPart[] => {
    const text = isJsonObject(part) ? part.text : part;
    const kind = readText(known?.[index]);
    if (typeof text !== 'string' || (kind !== null && !kind.startsWith('user.'))) return [];
    const typedPart = readPart(text.trim());
    return typedPart === undefined ? [] : [typedPart];
  });
  const found =
    typed.find(({ text, isDoubtful }) => text !== '' && !isDoubtful) ?? typed.find(({ text }) => text !== '');
  const text = found?.text ?? (typed.some(({ isRequest }) => isRequest) ? '' : undefined);
  if (text === undefined) return undefined;
  return text.length > MAX_PROMPT_CHARACTERS ? `${cutCharacters(text, MAX_PROMPT_CHARACTERS)}...` : text;
}

/** Undefined if all of the text was added. */
function readPart(whole: string): TypedPart | undefined {
  const text = stripAdded(whole);
  if (text === '') return undefined;
  if (SPOKEN_TAIL.test(text)) return undefined;
  const spoken = SPOKEN.exec(text)?.[1];
  if (spoken !== undefined) return toPart(decodeXml(spoken).trim());
  const answers = ANSWERS.exec(text)?.[1];
  if (answers !== undefined) return toPart(toAnswers(answers));
  const request = findRequest(text);
  if (request === undefined) {
    const isDoubtful = CONTEXT_HEADINGS.some((heading) => isHeading(text, heading));
    return { ...toPart(text), isDoubtful };
  }
  const typed = stripAdded(cutSections(request.text).trim());
  // The request may hold answers, as the app wraps any text.
  const inner = typed === '' ? undefined : readPart(typed);
  return { ...toPart(inner?.text ?? toComments(request.before)), isRequest: true };
}

function toPart(text: string): TypedPart {
  return { text, isRequest: false, isDoubtful: false };
}

/** Removes what was added before the person's text. */
function stripAdded(whole: string): string {
  let text = whole;
  for (;;) {
    const length = measureAdded(text);
    if (length === 0) return text;
    text = text.slice(length).trimStart();
  }
}

/** The length of the added text at the beginning; 0 if there is none. */
function measureAdded(text: string): number {
  const media = MEDIA_TAG.exec(text);
  if (media !== null) return media[0].length;
  const beginning = CONTEXT_BEGINNINGS.find(({ start }) => text.startsWith(start));
  if (beginning !== undefined) {
    const { end } = beginning;
    const at = end === undefined ? -1 : text.lastIndexOf(end);
    return at === -1 ? text.length : at + (end?.length ?? 0);
  }
  const tag = OPENING_TAG.exec(text)?.[1];
  if (tag === undefined || !(CONTEXT_TAGS.has(tag) || tag.startsWith(CONTEXT_TAG_PREFIX))) return 0;
  const close = `</${tag}>`;
  // Its content may contain the closing tag as well. Without one, the text was cut.
  const at = text.lastIndexOf(close);
  return at === -1 ? text.length : at + close.length;
}

/** The last heading of a request and what follows; undefined if the text has none. */
function findRequest(text: string): { before: string; text: string } | undefined {
  if (!/^[#<]/.test(text) && !text.startsWith('The attached pasted text file')) return undefined;
  const heading = [...text.matchAll(REQUEST_HEADING)].at(-1);
  if (heading === undefined) return undefined;
  // Without the name of the agent, the heading may be a person's own.
  const isOfApp =
    heading[0].includes('Codex') || heading.index === 0 || text.startsWith('<') || HEADING_LINE.test(text);
  if (!isOfApp) return undefined;
  return { before: text.slice(0, heading.index), text: text.slice(heading.index + heading[0].length) };
}

/** Cuts sections of context that follow the request. */
function cutSections(text: string): string {
  const ends = CONTEXT_HEADINGS.flatMap((heading) => {
    const at = text.indexOf(`\n${heading}`);
    return at !== -1 && isHeading(text.slice(at + 1), heading) ? [at] : [];
  });
  return text.slice(0, Math.min(text.length, ...ends));
}

function isHeading(text: string, heading: string): boolean {
  return text.startsWith(heading) && /^[ \t]*(?:\n|$)/.test(text.slice(heading.length, heading.length + 80));
}

function toComments(context: string): string {
  return [...context.matchAll(COMMENT)]
    .map(([, comment = '']) => comment.trim())
    .filter((comment) => comment !== '')
    .join('\n\n');
}

function toAnswers(json: string): string {
  const answers = parseJsonText(json.trim());
  return [answers]
    .flat()
    .flatMap((answer) => readText(readObject(answer)?.answer) ?? [])
    .join('\n\n');
}

function decodeXml(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
