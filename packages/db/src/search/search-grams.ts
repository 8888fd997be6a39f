/** Letters or digits in a row that something must have at least to be looked for as a part of words. */
export const MIN_SUBSTRING_RUN = 3;

const ALPHABET = 36;
/** Three ASCII letters or digits have a number of their own below this; all others share those above. */
const ASCII_GRAMS = ALPHABET ** 3;
const OTHER_GRAMS = 2 ** 16 - ASCII_GRAMS;
/** Numbers fill a smallint, which is signed. */
const LOWEST_NUMBER = -(2 ** 15);

const RUNS = /[\p{L}\p{M}\p{N}]{3,}/gu;

/**
 * The numbers of all sequences of three letters or digits in a text, whatever their case, ascending. A text with a
 * certain part has all numbers of that part; few others do.
 */
export function toGrams(text: string): number[] {
  const grams = new Set<number>();
  for (const [run] of foldCase(text).matchAll(RUNS)) {
    for (let index = 0; index + 2 < run.length; index++) {
      grams.add(toGram(run.charCodeAt(index), run.charCodeAt(index + 1), run.charCodeAt(index + 2)));
    }
  }
  return Array.from(grams).sort((a, b) => a - b);
}

function toGram(first: number, second: number, third: number): number {
  const [a, b, c] = [toDigit(first), toDigit(second), toDigit(third)];
  if (a >= 0 && b >= 0 && c >= 0) return LOWEST_NUMBER + (a * ALPHABET + b) * ALPHABET + c;
  const hash = (Math.imul(Math.imul(first, 0x01000193) ^ second, 0x01000193) ^ third) >>> 0;
  return LOWEST_NUMBER + ASCII_GRAMS + (hash % OTHER_GRAMS);
}

/** 0 to 35 of an ASCII digit or small letter; -1 of all else. */
function toDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  return code >= 97 && code <= 122 ? code - 87 : -1;
}

/** In lower case, of the same length: places in the one are places in the other. */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  const folded = lower.length === text.length ? lower : Array.from(text, toLowerOfSameLength).join('');
  return folded.replaceAll('ς', 'σ');
}

function toLowerOfSameLength(character: string): string {
  const lower = character.toLowerCase();
  return lower.length === character.length ? lower : character;
}
