import { stripVTControlCharacters } from 'node:util';
import { cutText, toOneLine } from '@recount/core/live';

/** Characters that turn the direction of what follows: by them a text could pass for another. */
const DIRECTION_CONTROLS = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;
const LINE_BREAK = /[\n\v\f\r\u0085\u2028\u2029]/u;
/** UTF-16 units looked at, so that a long text is not worked over whole. */
const MAX_UNITS = 20_000;

/** An agent's text on one line, of at most `maxCharacters`, without anything that a terminal would obey. */
export function toShownText(text: string, maxCharacters: number): string {
  const plain = stripVTControlCharacters(text.slice(0, MAX_UNITS).toWellFormed());
  // What looks like no escape sequence to the one may be one to a terminal: no control character is left.
  return cutText(toOneLine(plain).replace(DIRECTION_CONTROLS, ''), maxCharacters);
}

/** As `toShownText`, for what was laid out over several lines: white space is one space. */
export function toShownOutput(text: string, maxCharacters: number): string {
  return toShownText(text.slice(0, MAX_UNITS).replace(/\s+/gu, ' '), maxCharacters);
}

/** The first line of a text that is not blank. */
export function toFirstLine(text: string): string {
  return stripVTControlCharacters(text.slice(0, MAX_UNITS)).trimStart().split(LINE_BREAK, 1)[0] ?? '';
}
