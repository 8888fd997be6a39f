import { stripVTControlCharacters } from 'node:util';
import { cutText, toOneLine } from '@recount/core/live';

/** Bidirectional control characters, that could display a text as another. */
const DIRECTION_CONTROLS = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;
const LINE_BREAK = /[\n\v\f\r\u0085\u2028\u2029]/u;
/** UTF-16 units processed, so that long texts are not processed completely. */
const MAX_UNITS = 20_000;

/** An agent's text on one line of at most `maxCharacters`, without anything that a terminal would act on. */
export function toShownText(text: string, maxCharacters: number): string {
  const plain = stripVTControlCharacters(text.slice(0, MAX_UNITS).toWellFormed());
  // Terminals may recognise other escape sequences, so no control character is left.
  return cutText(toOneLine(plain).replace(DIRECTION_CONTROLS, ''), maxCharacters);
}

/** Like `toShownText`, for text over several lines. White space becomes one space. */
export function toShownOutput(text: string, maxCharacters: number): string {
  return toShownText(text.slice(0, MAX_UNITS).replace(/\s+/gu, ' '), maxCharacters);
}

/** The first non-blank line of a text. */
export function toFirstLine(text: string): string {
  return stripVTControlCharacters(text.slice(0, MAX_UNITS)).trimStart().split(LINE_BREAK, 1)[0] ?? '';
}
