import { cutCharacters } from './fields.ts';

const ELLIPSIS = '...';
/** UTF-16 units looked at for each character; a family emoji has 11. Bounds what a pile of accents can cost. */
const MAX_UNITS_PER_CHARACTER = 32;
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Text of at most `maxCharacters`, of which `...` takes the last three where something was cut. A character is what a
 * reader takes for one: no emoji or accented letter is cut inside.
 */
export function cutText(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const head = cutCharacters(text, maxCharacters * MAX_UNITS_PER_CHARACTER);
  let kept = '';
  let count = 0;
  for (const { segment } of segmenter.segment(head)) {
    if (++count > maxCharacters) return kept + ELLIPSIS;
    if (count <= maxCharacters - ELLIPSIS.length) kept += segment;
  }
  return head.length === text.length ? text : kept + ELLIPSIS;
}

/** Text on one line: line breaks and other control characters (a terminal would obey them) become a space. */
export function toOneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
}
