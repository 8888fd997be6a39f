import { isUtf8 } from 'node:buffer';
import { type ByteScan, scanBytes } from './scan-bytes.ts';

export interface DecodedLine extends ByteScan {
  text: string;
  /** Byte sequences that were no UTF-8; each became U+FFFD. */
  invalidSequenceCount: number;
}

/** Decodes a line's bytes as UTF-8, replacing what is invalid. */
export function decodeLine(bytes: Buffer): DecodedLine {
  const { isAscii, hasUnicodeEscape } = scanBytes(bytes);
  if (isAscii) return { text: bytes.toString('latin1'), invalidSequenceCount: 0, isAscii, hasUnicodeEscape };
  const text = bytes.toString('utf8');
  // What is invalid becomes U+FFFD, which costs nothing to look for in a text of Latin-1 characters alone.
  if (!text.includes('\uFFFD') || isUtf8(bytes)) return { text, invalidSequenceCount: 0, isAscii, hasUnicodeEscape };
  const replacements = countOccurrences(text, '\uFFFD');
  const genuine = countOccurrences(bytes.toString('latin1'), '\u00EF\u00BF\u00BD');
  return { text, invalidSequenceCount: Math.max(1, replacements - genuine), isAscii, hasUnicodeEscape };
}

function countOccurrences(text: string, part: string): number {
  let count = 0;
  for (let index = text.indexOf(part); index !== -1; index = text.indexOf(part, index + part.length)) count++;
  return count;
}
