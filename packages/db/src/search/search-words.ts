import type { SearchKind, WordVector } from '../schema/search.ts';

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
const MAX_CAMEL_CASE_LENGTH = 64;
const MIN_PART_LENGTH = 2;

const ONLY_ASCII = /^[\0-\x7f]*$/;
const HAS_ASCII_PARTS = /[a-z][A-Z]|[A-Z]{2}[a-z]/;
const HAS_PARTS = /\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}/u;
const PART_BOUNDARY = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
const WORD_CHARACTER = /[\p{L}\p{M}\p{N}]/u;
/** Scripts written without spaces, and Korean, which attaches particles to its words. */
const UNSPACED_SCRIPTS =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;

const SEPARATOR = 1;
const LETTER = 2;
const SINGLE = 3;

/**
 * By UTF-16 unit, filled on demand; 0: not yet known. Two regular expressions for each character would take most of the
 * time.
 */
const unitClasses = new Uint8Array(2 ** 16);

function classifyUnit(unit: number): number {
  const known = unitClasses[unit] ?? 0;
  if (known !== 0) return known;
  const unitClass = classify(unit);
  unitClasses[unit] = unitClass;
  return unitClass;
}

function classify(codePoint: number): number {
  const character = String.fromCodePoint(codePoint);
  if (!WORD_CHARACTER.test(character)) return SEPARATOR;
  return UNSPACED_SCRIPTS.test(character) ? SINGLE : LETTER;
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xe000;

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

/** Calls `visit` with the start and end of each word, until it returns false. */
function visitWords(text: string, visit: (start: number, end: number) => boolean): void {
  let start = -1;
  for (let index = 0; index < text.length; ) {
    const unit = text.charCodeAt(index);
    const codePoint = isSurrogate(unit) ? (text.codePointAt(index) ?? unit) : unit;
    const kind = codePoint > 0xffff ? classify(codePoint) : classifyUnit(codePoint);
    const next = index + (codePoint > 0xffff ? 2 : 1);
    if (kind !== LETTER && start >= 0) {
      if (!visit(start, index)) return;
      start = -1;
    }
    if (kind === SINGLE && !visit(index, next)) return;
    if (kind === LETTER && start < 0) start = index;
    index = next;
  }
  if (start >= 0) visit(start, text.length);
}

function toLexemes(word: string): readonly string[] {
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
const OTHER_GRAMS = 2 ** 16 - ASCII_GRAMS;
/** Numbers use the full range of smallint, which is signed. */
const LOWEST_NUMBER = -(2 ** 15);

const RUNS = /[\p{L}\p{M}\p{N}]{3,}/gu;

/** Flags by number, set if the current text has it; all zero between texts. A set would take five times as long. */
const isSeen = new Uint8Array(2 ** 16);

/**
 * The numbers of all sequences of three letters or digits in a text, ignoring case, ascending. A text that contains a
 * substring has all numbers of that substring; few others do.
 */
export function toGrams(text: string): Int16Array {
  const grams: number[] = [];
  const add = (gram: number): void => {
    if (isSeen[gram - LOWEST_NUMBER] === 1) return;
    isSeen[gram - LOWEST_NUMBER] = 1;
    grams.push(gram);
  };
  if (!addGrams(text, add)) addGramsOfRuns(text, add);
  for (const gram of grams) isSeen[gram - LOWEST_NUMBER] = 0;
  return Int16Array.from(grams).sort();
}

/** For a text with letters of two units. Three units may then be two letters. */
function addGramsOfRuns(text: string, add: (gram: number) => void): void {
  for (const [run] of foldCase(text).matchAll(RUNS)) {
    for (let index = 0; index + 2 < run.length; index++) {
      add(toGram(run.charCodeAt(index), run.charCodeAt(index + 1), run.charCodeAt(index + 2)));
    }
  }
}

/** The same for any other text, unit by unit; returns false if it has letters of two units. */
function addGrams(text: string, add: (gram: number) => void): boolean {
  let first = 0;
  let second = 0;
  for (let index = 0; index < text.length; index++) {
    const original = text.charCodeAt(index);
    if (isSurrogate(original) && WORD_CHARACTER.test(String.fromCodePoint(text.codePointAt(index) ?? 0))) return false;
    const unit = foldUnit(original);
    if (unit !== 0 && second !== 0 && first !== 0) add(toGram(first, second, unit));
    first = second;
    second = unit;
  }
  return true;
}

/** By UTF-16 unit, its letter in lower case, or 0 if it is not one; filled on demand (NOT_MET marks unknown ones). */
const foldedUnits = new Uint16Array(2 ** 16).fill(0xffff);
const NOT_MET = 0xffff;

function foldUnit(unit: number): number {
  const known = foldedUnits[unit] ?? NOT_MET;
  if (known !== NOT_MET) return known;
  const folded = foldCase(String.fromCharCode(unit));
  const foldedUnit = WORD_CHARACTER.test(folded) ? folded.charCodeAt(0) : 0;
  foldedUnits[unit] = foldedUnit;
  return foldedUnit;
}

function toGram(first: number, second: number, third: number): number {
  const [a, b, c] = [toDigit(first), toDigit(second), toDigit(third)];
  if (a >= 0 && b >= 0 && c >= 0) return LOWEST_NUMBER + (a * ALPHABET + b) * ALPHABET + c;
  const hash = (Math.imul(Math.imul(first, 0x01000193) ^ second, 0x01000193) ^ third) >>> 0;
  return LOWEST_NUMBER + ASCII_GRAMS + (hash % OTHER_GRAMS);
}

/** 0 to 35 for an ASCII digit or lower-case letter; -1 for everything else. */
function toDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  return code >= 97 && code <= 122 ? code - 87 : -1;
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

/**
 * A lexeme that all documents of a workspace have, so that the index never reads other workspaces' documents. No word
 * equals it, because it contains a space.
 */
export const toWorkspaceLexeme = (workspaceId: string): string => `workspace ${workspaceId}`;

/** Postgres' highest position. */
export const MAX_DOCUMENT_WORDS = 16_383;
/** Postgres keeps no more positions for one lexeme. */
const MAX_LEXEME_POSITIONS = 255;

/** People's words rank before tools' output. Postgres' weights A to D are 3 to 0. */
const WEIGHTS: Readonly<Record<SearchKind, WordVector['weight']>> = {
  prompt: 3,
  answer: 2,
  summary: 1,
  thinking: 1,
  tool_input: 0,
  tool_result: 0,
  context: 0,
};

/**
 * The words of a text, with the workspace's lexeme. The text must be cut at `end`, so that it holds no word that is not
 * in the vector.
 */
export function toWordVector(text: string, kind: SearchKind, workspaceId: string): { vector: WordVector; end: number } {
  const positions = new Map<string, number[]>([[toWorkspaceLexeme(workspaceId), []]]);
  let position = 0;
  let end = text.length;
  visitWords(text, (start, wordEnd) => {
    if (position === MAX_DOCUMENT_WORDS) {
      end = start;
      return false;
    }
    position += 1;
    for (const lexeme of toLexemes(text.slice(start, wordEnd))) {
      const known = positions.get(lexeme);
      if (known === undefined) positions.set(lexeme, [position]);
      else if (known.length < MAX_LEXEME_POSITIONS) known.push(position);
    }
    return true;
  });
  return { vector: { positions, weight: WEIGHTS[kind] }, end };
}
