import { formatCount } from '../terminal/format-values.ts';
import { wrapToWidth } from '../terminal/text-width.ts';

type LineStyle = 'bold' | 'dim' | 'red' | 'green' | 'cyan';

export interface ShownLine {
  text: string;
  style?: LineStyle;
}

export interface ShowOptions {
  timeZone: string;
  width: number;
  /** True if inputs and results of tools are shown completely. */
  hasWholeTools: boolean;
  /** Working directory. Paths below it are shown relative to it. */
  project?: string | null | undefined;
  /** Shows only the messages around this line of the transcript. */
  line?: number | undefined;
}

/** Lines shown of a tool's input or result, unless all are requested. */
export const SHORT_LINES = 6;
/** Keeps wrapped text readable in a wide terminal. */
export const MAX_TEXT_WIDTH = 110;
export const INDENT = '  ';
const LEADING_BLANK_LINES = /^(?:[^\S\n]*\n)+/;

/**
 * Wrapped to the width and indented; after `maxLines` (unless tools are shown completely), the number of further lines.
 */
export function wrapBlock(text: string, { width, hasWholeTools }: ShowOptions, maxLines?: number): string[] {
  const columns = Math.max(20, Math.min(width, MAX_TEXT_WIDTH) - INDENT.length);
  const source = text.replace(LEADING_BLANK_LINES, '').trimEnd().split('\n');
  const taken = maxLines === undefined || hasWholeTools ? source : source.slice(0, maxLines + 1);
  const wrapped = taken.flatMap((line) => wrapToWidth(toPlainLine(line), columns));
  const limit = maxLines === undefined || hasWholeTools ? wrapped.length : maxLines;
  const hidden = source.length - Math.min(taken.length, limit);
  const lines = wrapped.slice(0, limit).map((line) => INDENT + line);
  return hidden > 0 && wrapped.length > limit ? [...lines, `${INDENT}… ${formatCount(hidden)} more lines`] : lines;
}

/** Without control characters, and tabs as spaces, because the terminal guard would print them as codes. */
export const toPlainLine = (line: string): string =>
  line
    .replaceAll('\t', '  ')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours that tools print are what is taken out.
    .replace(/\u001B\[[\d;]*[A-Za-z]/g, '')
    .replace(/\p{Cc}/gu, '');
