/** A word of a text with its position, in UTF-16 units. */
export interface TextWord {
  start: number;
  end: number;
  /** Lexemes that find it, the whole word first, then the parts of a camel-case name. */
  lexemes: readonly string[];
}

/** Longer words are indexed by their beginning, because they are hashes, base64 and other noise. */
export const MAX_LEXEME_LENGTH = 64;
/** Longer words are not names whose parts anyone would search for. */
export const MAX_CAMEL_CASE_LENGTH = 64;
export const MIN_PART_LENGTH = 2;

const ONLY_ASCII = /^[\0-\x7f]*$/;
const HAS_ASCII_PARTS = /[a-z][A-Z]|[A-Z]{2}[a-z]/;
const HAS_PARTS = /\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}/u;
const PART_BOUNDARY = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
const WORD_CHARACTER = /[\p{L}\p{M}\p{N}]/u;
/** Scripts written without spaces, and Korean, which attaches particles to its words. */
const UNSPACED_SCRIPTS =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;

/** Kinds of characters; a SINGLE one is a word by itself. */
export const SEPARATOR = 1;
export const LETTER = 2;
export const SINGLE = 3;

/**
 * By UTF-16 unit, filled on demand; 0: not yet known. Two regular expressions for each character would take most of the
 * time.
 */
const unitClasses = new Uint8Array(2 ** 16);

/** The kind of a UTF-16 unit that is a whole character. */
export function classifyUnit(unit: number): number {
  const known = unitClasses[unit] ?? 0;
  if (known !== 0) return known;
  const unitClass = classify(unit);
  unitClasses[unit] = unitClass;
  return unitClass;
}

export function classify(codePoint: number): number {
  const character = String.fromCodePoint(codePoint);
  if (!WORD_CHARACTER.test(character)) return SEPARATOR;
  return UNSPACED_SCRIPTS.test(character) ? SINGLE : LETTER;
}

export const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xe000;

/**
 * The words of a text in order, letters, marks and digits; everything else separates them, so names in snake case,
 * paths and addresses are phrases of their parts. In scripts without spaces each character is a word, and a search term
 * is a phrase of characters.
 */
export function toWords(text: string): TextWord[] {
  const words: TextWord[] = [];
  visitWords(text, (start, end) => {
    words.push({ start, end, lexemes: toLexemes(text.slice(start, end)) });
    return true;
  });
  return words;
}

/** Calls `visit` with the start and end of each word, and whether it is all ASCII, until it returns false. */
export function visitWords(text: string, visit: (start: number, end: number, isAscii: boolean) => boolean): void {
  let start = -1;
  let isAscii = true;
  for (let index = 0; index < text.length; ) {
    const unit = text.charCodeAt(index);
    const codePoint = isSurrogate(unit) ? (text.codePointAt(index) ?? unit) : unit;
    const kind = codePoint > 0xffff ? classify(codePoint) : classifyUnit(codePoint);
    const next = index + (codePoint > 0xffff ? 2 : 1);
    if (kind !== LETTER && start >= 0) {
      if (!visit(start, index, isAscii)) return;
      start = -1;
    }
    if (kind === SINGLE && !visit(index, next, false)) return;
    if (kind === LETTER) {
      if (start < 0) {
        start = index;
        isAscii = true;
      }
      if (unit > 127) isAscii = false;
    }
    index = next;
  }
  if (start >= 0) visit(start, text.length, isAscii);
}

/** The lexemes that find a word, the whole word first. */
export function toLexemes(word: string): readonly string[] {
  const isAscii = ONLY_ASCII.test(word);
  const toLexeme = isAscii ? toAsciiLexeme : toUnicodeLexeme;
  const whole = toLexeme(word);
  if (word.length > MAX_CAMEL_CASE_LENGTH || !(isAscii ? HAS_ASCII_PARTS : HAS_PARTS).test(word)) return [whole];
  const parts = word.split(PART_BOUNDARY).filter(({ length }) => length >= MIN_PART_LENGTH);
  return [...new Set([whole, ...parts.map(toLexeme)])];
}

const toAsciiLexeme = (word: string): string => word.slice(0, MAX_LEXEME_LENGTH).toLowerCase();

/** Normalises case, and the different ways that Unicode has for writing the same letter. */
function toUnicodeLexeme(word: string): string {
  const folded = word
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replaceAll('ß', 'ss')
    .replace(/[^\p{L}\p{M}\p{N}]/gu, '');
  return Array.from(folded).slice(0, MAX_LEXEME_LENGTH).join('');
}

/** Minimum number of consecutive letters or digits in a substring to search for. */
export const MIN_SUBSTRING_RUN = 3;

const ALPHABET = 36;
/** Three ASCII letters or digits have unique numbers below this; all others share the numbers above. */
const ASCII_GRAMS = ALPHABET ** 3;
/** Grams are numbers from 0 to this one, which is excluded. */
export const GRAM_COUNT = 2 ** 16;
const OTHER_GRAMS = GRAM_COUNT - ASCII_GRAMS;

const RUNS = /[\p{L}\p{M}\p{N}]{3,}/gu;

/**
 * The numbers of all sequences of three letters or digits in a text, ignoring case, ascending. A text that contains a
 * substring has all numbers of that substring; few others do.
 */
export function toGrams(text: string): number[] {
  const grams = new Set<number>();
  for (const [run] of foldCase(text).matchAll(RUNS)) {
    for (let index = 0; index + 2 < run.length; index++) {
      grams.add(toGram(run.charCodeAt(index), run.charCodeAt(index + 1), run.charCodeAt(index + 2)));
    }
  }
  return [...grams].sort((a, b) => a - b);
}

/** By UTF-16 unit, its letter in lower case, or 0 if it is not one; filled on demand (NOT_MET marks unknown ones). */
const foldedUnits = new Uint16Array(2 ** 16).fill(0xffff);
const NOT_MET = 0xffff;

/** The letter or digit of a UTF-16 unit in lower case, as in `toGrams`; 0 for any other, and for half a character. */
export function foldUnit(unit: number): number {
  const known = foldedUnits[unit] ?? NOT_MET;
  if (known !== NOT_MET) return known;
  const folded = foldCase(String.fromCharCode(unit));
  const foldedUnit = WORD_CHARACTER.test(folded) ? folded.charCodeAt(0) : 0;
  foldedUnits[unit] = foldedUnit;
  return foldedUnit;
}

/** The number of three units that `foldUnit` has made. */
const toGram = (first: number, second: number, third: number): number =>
  toGramOfCodes(toCode(first), toCode(second), toCode(third));

/** The number of three codes. */
export function toGramOfCodes(first: number, second: number, third: number): number {
  if (first < ALPHABET && second < ALPHABET && third < ALPHABET) return (first * ALPHABET + second) * ALPHABET + third;
  const hash = (Math.imul(Math.imul(first, 0x01000193) ^ second, 0x01000193) ^ third) >>> 0;
  return ASCII_GRAMS + (hash % OTHER_GRAMS);
}

/** 0 to 35 for an ASCII digit or lower-case letter; any other unit has a code from 36 on. */
export function toCode(unit: number): number {
  if (unit >= 48 && unit <= 57) return unit - 48;
  return unit >= 97 && unit <= 122 ? unit - 87 : ALPHABET + unit;
}

/** In lower case and of the same length, so positions in one are positions in the other. */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  const folded = lower.length === text.length ? lower : Array.from(text, toLowerOfSameLength).join('');
  return folded.replaceAll('ς', 'σ');
}

function toLowerOfSameLength(character: string): string {
  const lower = character.toLowerCase();
  return lower.length === character.length ? lower : character;
}

/** Later words of a text are not found, nor anything after them. */
export const MAX_DOCUMENT_WORDS = 16_383;

/** The end of a text's words that can be found. */
export function toSearchableEnd(text: string): number {
  if (text.length < 2 * MAX_DOCUMENT_WORDS) return text.length;
  let words = 0;
  let end = text.length;
  visitWords(text, (start) => {
    words += 1;
    if (words <= MAX_DOCUMENT_WORDS) return true;
    end = start;
    return false;
  });
  return end;
}

/** Orders texts by their units, as PostgreSQL orders ids. */
export const compareText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
