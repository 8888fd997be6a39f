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
  toDigit,
  toGram,
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
const hashUnit = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x01000193);
const toWordToken = (hash: number): number =>
  FIRST_WORD + (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> (32 - WORD_BITS));

function hashLexeme(lexeme: string): number {
  let hash = HASH_START;
  for (let index = 0; index < lexeme.length; index++) hash = hashUnit(hash, lexeme.charCodeAt(index));
  return hash;
}

/** Each digit and ASCII letter has its own group. */
function toBeginningGroup(first: number): number {
  const digit = toDigit(first);
  return FIRST_BEGINNING + (digit >= 0 ? digit : 36 + (first % (FIRST_UNITS - 36))) * SECOND_UNITS;
}

const toBeginning = (first: number, second: number): number => {
  const digit = toDigit(second);
  return toBeginningGroup(first) + (digit >= 0 ? digit : 36 + (second % (NO_SECOND_UNIT - 36)));
};

/** The tokens of one lexeme. */
function toLexemeTokens(lexeme: string): number[] {
  if (lexeme === '') return [];
  const [first, second] = [lexeme.charCodeAt(0), lexeme.charCodeAt(1)];
  const beginning = lexeme.length === 1 ? toBeginningGroup(first) + NO_SECOND_UNIT : toBeginning(first, second);
  const tokens = [toWordToken(hashLexeme(lexeme)), beginning];
  for (let index = 0; index + 2 < lexeme.length; index++) {
    tokens.push(toGram(lexeme.charCodeAt(index), lexeme.charCodeAt(index + 1), lexeme.charCodeAt(index + 2)));
  }
  return tokens;
}

/** A text that has a word with this lexeme has a token of each range. */
export function toWordRanges(lexeme: string): TokenRange[] {
  const [word = 0, , ...grams] = toLexemeTokens(lexeme);
  // A gram or two tell apart most words that share a token.
  const chosen = grams.length > 1 ? [grams[0] ?? 0, grams.at(-1) ?? 0] : grams;
  return toRanges([word, ...chosen]);
}

/** A text that has a word whose lexeme begins with this has a token of each range. */
export function toPrefixRanges(prefix: string): TokenRange[] {
  const [, beginning = 0, ...grams] = toLexemeTokens(prefix);
  if (prefix.length > 2) return toRanges(grams);
  if (prefix.length === 2) return toRanges([beginning]);
  const from = toBeginningGroup(prefix.charCodeAt(0));
  return [{ from, to: from + NO_SECOND_UNIT }];
}

/** A text that contains this part has a token of each range. */
export const toSubstringRanges = (part: string): TokenRange[] => toRanges(toGrams(part));

const toRanges = (tokens: readonly number[]): TokenRange[] =>
  [...new Set(tokens)].map((token) => ({ from: token, to: token }));

/** Takes the tokens of a text, each once. */
type AddToken = (token: number) => void;

/** The last text that had each token, by its number. */
const lastTexts = new Int32Array(TOKEN_COUNT);
let textNumber = 0;

/**
 * Passes each token of a text once to `add`; returns the number of its words, and parts of names, up to
 * MAX_DOCUMENT_WORDS words.
 */
export function visitTokens(text: string, add: AddToken): number {
  textNumber = textNumber === 0x7fffffff ? 1 : textNumber + 1;
  if (textNumber === 1) lastTexts.fill(0);
  const number = textNumber;
  const addOnce = (token: number): void => {
    if (lastTexts[token] === number) return;
    lastTexts[token] = number;
    add(token);
  };
  const words = visitUnits(text, addOnce);
  return words >= 0 ? words : visitWholeWords(text, addOnce);
}

/** Word by word, for texts with letters of two units. Tokens that were passed before are among its own. */
function visitWholeWords(text: string, add: AddToken): number {
  for (const gram of toGrams(text)) add(gram);
  let [words, parts] = [0, 0];
  visitWords(text, (start, end) => {
    parts += addWord(text.slice(start, end), add);
    words += 1;
    return words < MAX_DOCUMENT_WORDS;
  });
  return parts;
}

const MAX_REMEMBERED = 4096;
const MAX_REMEMBERED_LENGTH = 24;
/** Tokens of words with letters outside of ASCII, because normalising them is slow. */
const remembered = new Map<string, { tokens: readonly number[]; lexemes: number }>();

/** Passes the tokens of one word; returns the number of its lexemes. */
function addWord(word: string, add: AddToken): number {
  const known = remembered.get(word);
  if (known !== undefined) {
    for (const token of known.tokens) add(token);
    return known.lexemes;
  }
  const lexemes = toLexemes(word);
  const tokens = lexemes.flatMap(toLexemeTokens);
  for (const token of tokens) add(token);
  if (word.length <= MAX_REMEMBERED_LENGTH) {
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(word, { tokens, lexemes: lexemes.length });
  }
  return lexemes.length;
}

/** Of an ASCII unit. */
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

/** The same, unit by unit; returns -1 at a letter of two units. */
function visitUnits(text: string, add: AddToken): number {
  const word = new AsciiWord();
  let [second, first] = [0, 0];
  let start = -1;
  let isAscii = true;
  let [words, parts] = [0, 0];
  const endWord = (end: number): void => {
    parts += isAscii ? word.end(add) : addWord(text.slice(start, end), add);
    words += 1;
    start = -1;
  };
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    let folded: number;
    if (unit < 128) {
      const kind = asciiKinds[unit] ?? OTHER;
      folded = kind === OTHER ? 0 : kind === UPPER ? unit + 32 : unit;
      if (kind !== OTHER) {
        if (start < 0) {
          start = index;
          isAscii = true;
          word.begin();
        }
        if (isAscii) word.add(folded, kind, text, index);
      } else if (start >= 0) endWord(index);
    } else {
      if (isSurrogate(unit) && classify(text.codePointAt(index) ?? unit) !== SEPARATOR) return -1;
      folded = foldUnit(unit);
      const kind = classifyUnit(unit);
      if (kind !== LETTER && start >= 0) endWord(index);
      if (kind === SINGLE && words < MAX_DOCUMENT_WORDS) {
        parts += addWord(text.charAt(index), add);
        words += 1;
      }
      if (kind === LETTER) {
        if (start < 0) start = index;
        isAscii = false;
      }
    }
    if (words >= MAX_DOCUMENT_WORDS) return parts;
    if (first !== 0 && second !== 0 && folded !== 0) add(toGram(first, second, folded));
    first = second;
    second = folded;
  }
  if (start >= 0) endWord(text.length);
  return parts;
}

/** Tokens of a word of ASCII letters and digits and of the parts of its name, as `toLexemes` has them. */
class AsciiWord {
  #length = 0;
  #hash = HASH_START;
  #first = 0;
  #second = 0;
  #lastKind = OTHER;
  #kindBeforeLast = OTHER;
  #isName = false;
  #partLength = 0;
  #partHash = HASH_START;
  #partFirst = 0;
  #partSecond = 0;
  /** Hash, first and second unit of each part that has ended. */
  readonly #parts: number[] = [];

  begin(): void {
    this.#length = 0;
    this.#hash = HASH_START;
    this.#lastKind = OTHER;
    this.#kindBeforeLast = OTHER;
    this.#isName = false;
    this.#parts.length = 0;
    this.#beginPart();
  }

  add(unit: number, kind: number, text: string, index: number): void {
    const last = this.#lastKind;
    if (last !== OTHER) {
      if (kind === UPPER && (last !== UPPER || asciiKinds[text.charCodeAt(index + 1)] === LOWER)) this.#endPart();
      if ((last === LOWER && kind === UPPER) || (kind === LOWER && last === UPPER && this.#kindBeforeLast === UPPER))
        this.#isName = true;
    }
    this.#kindBeforeLast = last;
    this.#lastKind = kind;
    if (this.#length === 0) this.#first = unit;
    else if (this.#length === 1) this.#second = unit;
    if (this.#length < MAX_LEXEME_LENGTH) this.#hash = hashUnit(this.#hash, unit);
    this.#length += 1;
    if (this.#partLength === 0) this.#partFirst = unit;
    else if (this.#partLength === 1) this.#partSecond = unit;
    this.#partHash = hashUnit(this.#partHash, unit);
    this.#partLength += 1;
  }

  /** Passes the tokens; returns the number of lexemes. The text has its grams. */
  end(add: AddToken): number {
    add(toWordToken(this.#hash));
    add(this.#length === 1 ? toBeginningGroup(this.#first) + NO_SECOND_UNIT : toBeginning(this.#first, this.#second));
    if (!this.#isName || this.#length > MAX_CAMEL_CASE_LENGTH) return 1;
    this.#endPart();
    const parts = this.#parts;
    for (let index = 0; index < parts.length; index += 3) {
      add(toWordToken(parts[index] ?? 0));
      add(toBeginning(parts[index + 1] ?? 0, parts[index + 2] ?? 0));
    }
    return 1 + parts.length / 3;
  }

  #beginPart(): void {
    this.#partLength = 0;
    this.#partHash = HASH_START;
  }

  #endPart(): void {
    if (this.#partLength >= MIN_PART_LENGTH) this.#parts.push(this.#partHash, this.#partFirst, this.#partSecond);
    this.#beginPart();
  }
}
