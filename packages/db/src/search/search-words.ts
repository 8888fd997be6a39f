/** A word of a text with its place, in UTF-16 units. */
export interface TextWord {
  start: number;
  end: number;
  /** What it is found by: the whole word first, then the parts of a name in camel case. */
  lexemes: readonly string[];
}

/** Longer words are known by their beginning: hashes, base64 and other noise. */
export const MAX_LEXEME_LENGTH = 64;
/** Longer words are no names whose parts anybody would look for. */
const MAX_CAMEL_CASE_LENGTH = 64;
const MIN_PART_LENGTH = 2;

const ONLY_ASCII = /^[\0-\x7f]*$/;
const HAS_ASCII_PARTS = /[a-z][A-Z]|[A-Z]{2}[a-z]/;
const HAS_PARTS = /\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}/u;
const PART_BOUNDARY = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
const WORD_CHARACTER = /[\p{L}\p{M}\p{N}]/u;
/** Scripts that write without spaces, and Korean, which glues particles to its words. */
const UNSPACED_SCRIPTS =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;

const SEPARATOR = 0;
const LETTER = 1;
const SINGLE = 2;

const asciiClasses = Uint8Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9]/.test(String.fromCharCode(code)) ? LETTER : SEPARATOR,
);

function classify(codePoint: number): number {
  if (codePoint < 128) return asciiClasses[codePoint] ?? SEPARATOR;
  const character = String.fromCodePoint(codePoint);
  if (!WORD_CHARACTER.test(character)) return SEPARATOR;
  return UNSPACED_SCRIPTS.test(character) ? SINGLE : LETTER;
}

/**
 * The words of a text in their order: letters, marks and digits; all else separates them, so that names in snake case,
 * paths and addresses are phrases of their parts. In scripts without spaces each character is a word, and what one looks
 * for a phrase of characters.
 */
export function* toWords(text: string): Generator<TextWord> {
  let start = -1;
  for (let index = 0; index < text.length; ) {
    const codePoint = text.codePointAt(index) ?? 0;
    const kind = classify(codePoint);
    const next = index + (codePoint > 0xffff ? 2 : 1);
    if (kind !== LETTER && start >= 0) {
      yield toWord(text, start, index);
      start = -1;
    }
    if (kind === SINGLE) yield toWord(text, index, next);
    if (kind === LETTER && start < 0) start = index;
    index = next;
  }
  if (start >= 0) yield toWord(text, start, text.length);
}

function toWord(text: string, start: number, end: number): TextWord {
  const word = text.slice(start, end);
  const isAscii = ONLY_ASCII.test(word);
  const toLexeme = isAscii ? toAsciiLexeme : toUnicodeLexeme;
  const whole = toLexeme(word);
  if (word.length > MAX_CAMEL_CASE_LENGTH || !(isAscii ? HAS_ASCII_PARTS : HAS_PARTS).test(word)) {
    return { start, end, lexemes: [whole] };
  }
  const parts = word.split(PART_BOUNDARY).filter(({ length }) => length >= MIN_PART_LENGTH);
  return { start, end, lexemes: [...new Set([whole, ...parts.map(toLexeme)])] };
}

const toAsciiLexeme = (word: string): string => word.slice(0, MAX_LEXEME_LENGTH).toLowerCase();

/** Without upper and lower case, and without the several ways in which Unicode writes the same letter. */
function toUnicodeLexeme(word: string): string {
  const folded = word
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replaceAll('ß', 'ss')
    .replace(/[^\p{L}\p{M}\p{N}]/gu, '');
  return Array.from(folded).slice(0, MAX_LEXEME_LENGTH).join('');
}
