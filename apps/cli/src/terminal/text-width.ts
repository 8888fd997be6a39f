import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Texts of only one-column characters, which most are. */
const NARROW_ONLY = /^[ -~\u00C0-\u024F\u2500-\u259F–…·]*$/;

/** Columns that the text takes in a terminal. */
export function toTextWidth(text: string): number {
  if (NARROW_ONLY.test(text)) return text.length;
  // Loaded on demand, because its tables take longer to load than most commands run.
  const { default: stringWidth } = require('string-width') as typeof import('string-width');
  return stringWidth(text);
}

let segmenter: Intl.Segmenter | undefined;

function toCharacters(text: string): string[] {
  segmenter ??= new Intl.Segmenter();
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** The text cut to `width` columns, the last one an ellipsis. */
export function cutToWidth(text: string, width: number): string {
  if (toTextWidth(text) <= width) return text;
  let cut = '';
  let used = 0;
  for (const segment of toCharacters(text)) {
    used += toTextWidth(segment);
    if (used > width - 1) break;
    cut += segment;
  }
  return width > 0 ? `${cut.trimEnd()}…` : '';
}

/** The last `width` columns of the text, the first one an ellipsis. It is for paths, whose end matters most. */
export function cutStartToWidth(text: string, width: number): string {
  if (toTextWidth(text) <= width) return text;
  let cut = '';
  let used = 0;
  for (const segment of toCharacters(text).reverse()) {
    used += toTextWidth(segment);
    if (used > width - 1) break;
    cut = segment + cut;
  }
  return width > 0 ? `…${cut.trimStart()}` : '';
}

/** Lines of at most `width` columns, broken between words; a longer word gets a separate line. */
export function wrapToWidth(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && toTextWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

/** One line without control characters, which could otherwise control the terminal. */
export function toSingleLine(text: string): string {
  return text.replace(/\s+/gu, ' ').replace(/\p{C}/gu, '').trim();
}
