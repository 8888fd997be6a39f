import { isAscii as areAscii, isUtf8 } from 'node:buffer';

export interface DecodedLine {
  text: string;
  /** Byte sequences that were no UTF-8; each became U+FFFD. */
  invalidSequenceCount: number;
  isAscii: boolean;
  /** Whether `\u` is in the text. */
  hasUnicodeEscape: boolean;
}

/** Decodes a line's bytes as UTF-8, replacing what is invalid. */
export function decodeLine(bytes: Buffer): DecodedLine {
  const isAscii = areAscii(bytes);
  const text = bytes.toString(isAscii ? 'latin1' : 'utf8');
  const invalidSequenceCount = isAscii ? 0 : countInvalidSequences(bytes, text);
  return { text, invalidSequenceCount, isAscii, hasUnicodeEscape: text.includes('\\u') };
}

function countInvalidSequences(bytes: Buffer, text: string): number {
  // What is invalid becomes U+FFFD, which costs nothing to look for in a text of Latin-1 characters alone.
  if (!text.includes('\uFFFD') || isUtf8(bytes)) return 0;
  const replacements = countOccurrences(text, '\uFFFD');
  const genuine = countOccurrences(bytes.toString('latin1'), '\u00EF\u00BF\u00BD');
  return Math.max(1, replacements - genuine);
}

function countOccurrences(text: string, part: string): number {
  let count = 0;
  for (let index = text.indexOf(part); index !== -1; index = text.indexOf(part, index + part.length)) count++;
  return count;
}
