import {
  classify,
  classifyUnit,
  foldUnit,
  GRAM_COUNT,
  isSurrogate,
  LETTER,
  MAX_CAMEL_CASE_LENGTH,
  MAX_DOCUMENT_WORDS,
  MAX_LEXEME_LENGTH,
  MIN_PART_LENGTH,
  SEPARATOR,
  SINGLE,
  toCode,
  toGramOfCodes,
  toGrams,
  toLexemes,
  visitWords,
} from './search-words.ts';

/**
 * Tokens are numbers that texts share with the queries that find them: grams (`toGrams`), then beginnings of words (its
 * first two units), then whole words. Several words may share a token, so a text that has a query's tokens is a
 * candidate, and its text decides.
 */
export const TOKEN_COUNT = 2 ** 18;

/** Beginnings are grouped by the first unit, so that a query for one letter is a range of tokens. */
const FIRST_BEGINNING = GRAM_COUNT;
const SECOND_UNITS = 512;
const FIRST_UNITS = 128;
/** Second unit of words of one unit; hashes stay below it. */
const NO_SECOND_UNIT = SECOND_UNITS - 1;
const FIRST_WORD = FIRST_BEGINNING + FIRST_UNITS * SECOND_UNITS;
const WORD_BITS = 17;

/** Tokens from one to another, inclusive; a text has one of them at least. */
export interface TokenRange {
  from: number;
  to: number;
}

const HASH_START = 0x811c9dc5 | 0;
const hashCode = (hash: number, code: number): number => Math.imul(hash ^ code, 0x01000193);
const toWordToken = (hash: number): number =>
  FIRST_WORD + (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> (32 - WORD_BITS));

/** Codes of digits and ASCII letters. Each has its own group of beginnings. */
const ASCII_CODES = 36;

function toBeginningGroup(first: number): number {
  const group = first < ASCII_CODES ? first : ASCII_CODES + (first % (FIRST_UNITS - ASCII_CODES));
  return FIRST_BEGINNING + group * SECOND_UNITS;
}

const toBeginning = (first: number, second: number): number =>
  toBeginningGroup(first) + (second < ASCII_CODES ? second : ASCII_CODES + (second % (NO_SECOND_UNIT - ASCII_CODES)));

/** The tokens of one lexeme: the word, its beginning, its grams. */
function toLexemeTokens(lexeme: string): number[] {
  const codes = Array.from({ length: lexeme.length }, (_, index) => toCode(lexeme.charCodeAt(index)));
  const [first, second, ...others] = codes;
  if (first === undefined) return [];
  const beginning = second === undefined ? toBeginningGroup(first) + NO_SECOND_UNIT : toBeginning(first, second);
  const grams = others.map((code, index) => toGramOfCodes(codes[index] ?? 0, codes[index + 1] ?? 0, code));
  return [toWordToken(codes.reduce(hashCode, HASH_START)), beginning, ...grams];
}

/** A text that has a word with this lexeme has a token of each range. */
export function toWordRanges(lexeme: string): TokenRange[] {
  const [word = 0, , ...grams] = toLexemeTokens(lexeme);
  // A gram tells apart most words that share a token; each further one takes as long to read as it saves.
  return toRanges([word, ...grams.slice(0, 1)]);
}

/** A text that has a word whose lexeme begins with this has a token of each range. */
export function toPrefixRanges(prefix: string): TokenRange[] {
  const [, beginning = 0, ...grams] = toLexemeTokens(prefix);
  if (prefix.length > 2) return toRanges(grams);
  if (prefix.length === 2) return toRanges([beginning]);
  const from = toBeginningGroup(toCode(prefix.charCodeAt(0)));
  return [{ from, to: from + NO_SECOND_UNIT }];
}

/** A text that contains this part has a token of each range. */
export const toSubstringRanges = (part: string): TokenRange[] => toRanges(toGrams(part));

const toRanges = (tokens: readonly number[]): TokenRange[] =>
  [...new Set(tokens)].map((token) => ({ from: token, to: token }));

/** The tokens of a text, each once. */
export interface TextTokens {
  /** Valid until the next text is read. */
  tokens: Uint32Array;
  /** Number of its words, and parts of names, up to MAX_DOCUMENT_WORDS words. */
  length: number;
}

/** The tokens of the text that is being read; one at a time in the process, because reading never waits. */
let found = new Uint32Array(16_384);
let foundCount = 0;
/** The last text that had each token, by its number. */
const lastTexts = new Int32Array(TOKEN_COUNT);
let textNumber = 0;

function add(token: number): void {
  if (lastTexts[token] === textNumber) return;
  lastTexts[token] = textNumber;
  if (foundCount === found.length) {
    const larger = new Uint32Array(found.length * 2);
    larger.set(found);
    found = larger;
  }
  found[foundCount++] = token;
}

/** Finds the tokens of a text. */
export function readTokens(text: string): TextTokens {
  textNumber = textNumber === 0x7fffffff ? 1 : textNumber + 1;
  if (textNumber === 1) lastTexts.fill(0);
  foundCount = 0;
  const length = readUnits(text);
  // The tokens found until then are among all of them.
  const whole = length >= 0 ? length : readWords(text);
  return { tokens: found.subarray(0, foundCount), length: whole };
}

/** Word by word, for texts with letters of two units. */
function readWords(text: string): number {
  for (const gram of toGrams(text)) add(gram);
  let [words, lexemes] = [0, 0];
  visitWords(text, (start, end) => {
    lexemes += addWord(text.slice(start, end));
    words += 1;
    return words < MAX_DOCUMENT_WORDS;
  });
  return lexemes;
}

const MAX_REMEMBERED = 4096;
const MAX_REMEMBERED_LENGTH = 24;
/** Tokens of words with letters outside of ASCII, because normalising them is slow. */
const remembered = new Map<string, { tokens: readonly number[]; lexemes: number }>();

/** Adds the tokens of one word; returns the number of its lexemes. */
function addWord(word: string): number {
  let known = remembered.get(word);
  if (known === undefined) {
    const lexemes = toLexemes(word);
    known = { tokens: lexemes.flatMap(toLexemeTokens), lexemes: lexemes.length };
    if (word.length <= MAX_REMEMBERED_LENGTH) {
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      remembered.set(word, known);
    }
  }
  for (const token of known.tokens) add(token);
  return known.lexemes;
}

/** Kinds of an ASCII unit. */
const OTHER = 0;
const DIGIT = 1;
const LOWER = 2;
const UPPER = 3;
const asciiKinds = Uint8Array.from({ length: 128 }, (_, unit) => {
  const character = String.fromCharCode(unit);
  if (/[0-9]/.test(character)) return DIGIT;
  if (/[a-z]/.test(character)) return LOWER;
  return /[A-Z]/.test(character) ? UPPER : OTHER;
});
/** To be subtracted from a unit of each kind for its code. */
const CODE_OFFSETS = Uint8Array.of(0, 48, 87, 55);
const SPACE = 32;

/** Parts of a word that are kept; a word with more is too long for a name. */
const MAX_PARTS = MAX_CAMEL_CASE_LENGTH;

/** A word of ASCII letters and digits, letter by letter, with the lexemes that `toLexemes` gives it. */
class AsciiWord {
  #length = 0;
  #hash = HASH_START;
  #first = 0;
  #second = 0;
  #last = OTHER;
  #beforeLast = OTHER;
  #isName = false;
  #partLength = 0;
  #partHash = HASH_START;
  #partFirst = 0;
  #partSecond = 0;
  /** Hash, first and second code of each part that has ended. */
  readonly #parts = new Int32Array(3 * MAX_PARTS);
  #partCount = 0;

  begin(): void {
    this.#length = 0;
    this.#hash = HASH_START;
    this.#last = OTHER;
    this.#beforeLast = OTHER;
    this.#isName = false;
    this.#partCount = 0;
    this.#partLength = 0;
    this.#partHash = HASH_START;
  }

  /** `next` is the unit after the letter. */
  add(code: number, kind: number, next: number): void {
    const last = this.#last;
    if (kind === UPPER && last !== OTHER && (last !== UPPER || asciiKinds[next] === LOWER)) {
      this.#endPart();
      if (last === LOWER) this.#isName = true;
    } else if (kind === LOWER && last === UPPER && this.#beforeLast === UPPER) this.#isName = true;
    this.#beforeLast = last;
    this.#last = kind;
    if (this.#length === 0) this.#first = code;
    else if (this.#length === 1) this.#second = code;
    if (this.#length < MAX_LEXEME_LENGTH) this.#hash = hashCode(this.#hash, code);
    this.#length += 1;
    if (this.#partLength === 0) this.#partFirst = code;
    else if (this.#partLength === 1) this.#partSecond = code;
    this.#partHash = hashCode(this.#partHash, code);
    this.#partLength += 1;
  }

  /** Adds the tokens, except its grams; returns the number of its lexemes. */
  end(): number {
    add(toWordToken(this.#hash));
    add(this.#length === 1 ? toBeginningGroup(this.#first) + NO_SECOND_UNIT : toBeginning(this.#first, this.#second));
    if (!this.#isName || this.#length > MAX_CAMEL_CASE_LENGTH) return 1;
    this.#endPart();
    for (let index = 0; index < 3 * this.#partCount; index += 3) {
      add(toWordToken(this.#parts[index] ?? 0));
      add(toBeginning(this.#parts[index + 1] ?? 0, this.#parts[index + 2] ?? 0));
    }
    return 1 + this.#partCount;
  }

  #endPart(): void {
    if (this.#partLength >= MIN_PART_LENGTH && this.#partCount < MAX_PARTS) {
      this.#parts[3 * this.#partCount] = this.#partHash;
      this.#parts[3 * this.#partCount + 1] = this.#partFirst;
      this.#parts[3 * this.#partCount + 2] = this.#partSecond;
      this.#partCount += 1;
    }
    this.#partLength = 0;
    this.#partHash = HASH_START;
  }
}

const asciiWord = new AsciiWord();

/**
 * Unit by unit; returns -1 at a letter of two units. This loop takes most of the time of making segments, so it makes no
 * objects.
 */
function readUnits(text: string): number {
  let words = 0;
  let lexemes = 0;
  // The last two codes of the run of letters and digits; -1 for none.
  let first = -1;
  let second = -1;
  let start = -1;
  let isAscii = true;
  for (let index = 0; index <= text.length; index++) {
    const unit = index < text.length ? text.charCodeAt(index) : SPACE;
    let code = -1;
    let unitClass = SEPARATOR;
    if (unit < 128) {
      const kind = asciiKinds[unit] ?? OTHER;
      if (kind !== OTHER) {
        code = unit - (CODE_OFFSETS[kind] ?? 0);
        unitClass = LETTER;
        if (start < 0) {
          start = index;
          isAscii = true;
          asciiWord.begin();
        }
        if (isAscii) asciiWord.add(code, kind, text.charCodeAt(index + 1));
      }
    } else {
      if (isSurrogate(unit) && classify(text.codePointAt(index) ?? unit) !== SEPARATOR) return -1;
      const folded = foldUnit(unit);
      if (folded !== 0) code = toCode(folded);
      unitClass = classifyUnit(unit);
      if (unitClass === LETTER) {
        if (start < 0) start = index;
        isAscii = false;
      }
    }
    if (unitClass !== LETTER && start >= 0) {
      lexemes += isAscii ? asciiWord.end() : addWord(text.slice(start, index));
      start = -1;
      if (++words >= MAX_DOCUMENT_WORDS) return lexemes;
    }
    if (unitClass === SINGLE) {
      lexemes += addWord(text.charAt(index));
      if (++words >= MAX_DOCUMENT_WORDS) return lexemes;
    }
    if (first >= 0 && second >= 0 && code >= 0) add(toGramOfCodes(first, second, code));
    first = second;
    second = code;
  }
  return lexemes;
}
