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

/** The indentation of a line, and the term that it explains. A command is no term. */
const HANGING = /^ *(?!\$)\S+(?: \S+)* {2,}(?=\S)/;
const HEADING = /^[\w ]+:$/;
const LEAST_WIDTH = 20;

/**
 * Wraps the paragraphs of a help text, and the explanations of its terms, to `width` columns. Other indented lines, such
 * as commands to copy, stay as they are.
 */
export function wrapHelp(text: string, width: number): string {
  const lines: string[] = [];
  let block: { hang: number; text: string } | undefined;
  const end = (): void => {
    if (block !== undefined) {
      const indent = ' '.repeat(block.hang);
      const [first = '', ...others] = wrapToWidth(
        block.text.slice(block.hang),
        Math.max(LEAST_WIDTH, width - block.hang),
      );
      lines.push(block.text.slice(0, block.hang) + first, ...others.map((line) => indent + line));
    }
    block = undefined;
  };
  for (const line of text.split('\n')) {
    const indent = line.length - line.trimStart().length;
    const [term] = HANGING.exec(line) ?? [];
    if (block !== undefined && term === undefined && line !== '' && indent === block.hang && !HEADING.test(line)) {
      block.text += ` ${line.trimStart()}`;
      continue;
    }
    end();
    if (term !== undefined || (indent === 0 && line !== '')) block = { hang: term?.length ?? 0, text: line };
    else lines.push(line);
  }
  end();
  return lines.join('\n');
}

/** One line without control characters, which could otherwise control the terminal. */
export function toSingleLine(text: string): string {
  return text.replace(/\s+/gu, ' ').replace(/\p{C}/gu, '').trim();
}
