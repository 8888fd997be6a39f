import type { SearchQuery, SearchTerm } from './parse-search-query.ts';
import {
  classifyUnit,
  foldCase,
  isSurrogate,
  LETTER,
  MAX_DOCUMENT_WORDS,
  SEPARATOR,
  toLexemes,
  visitWords,
} from './search-words.ts';

/** Ascending positions of the lexemes of a text that a query names, from 1. */
export type WordPositions = ReadonlyMap<string, readonly number[]>;

/**
 * Finds the places of a query's words in a text. Returns undefined if the text does not match the query. Words of
 * excluded terms are listed as well, where the text has them.
 */
export type TextMatcher = (text: string) => WordPositions | undefined;

/** Makes the function that decides which texts match a query. */
export function createTextMatcher(query: SearchQuery): TextMatcher {
  const terms = query.flat();
  const exact = new Set(terms.flatMap((term) => term.words.filter((_, index) => !isBeginning(term, index))));
  const beginnings = [...new Set(terms.flatMap((term) => term.words.filter((_, index) => isBeginning(term, index))))];
  const isWanted = (lexeme: string): boolean =>
    exact.has(lexeme) || beginnings.some((beginning) => lexeme.startsWith(beginning));
  const parts = [...exact, ...beginnings];
  return (text) => {
    const positions = findPositions(text, parts, isWanted);
    return matchesQuery(positions, query) ? positions : undefined;
  };
}

const isBeginning = ({ words, isPrefix }: SearchTerm, index: number): boolean => isPrefix && index === words.length - 1;

function findPositions(
  text: string,
  parts: readonly string[],
  isWanted: (lexeme: string) => boolean,
): Map<string, number[]> {
  const positions = new Map<string, number[]>();
  visitWordsWith(text, parts, (start, end, position) => {
    for (const lexeme of toLexemes(text.slice(start, end))) {
      if (!isWanted(lexeme)) continue;
      const known = positions.get(lexeme);
      if (known === undefined) positions.set(lexeme, [position]);
      else known.push(position);
    }
  });
  return positions;
}

type AddWord = (start: number, end: number, position: number) => void;

/**
 * Calls `add` with the start, end and position of each word that may have a lexeme that begins with one of the parts,
 * which are in lower case. Positions count all words, from 1.
 */
export function visitWordsWith(text: string, parts: readonly string[], add: AddWord): void {
  const places = findParts(foldCase(text), parts);
  if (hasOtherLetters(text)) visitAllWords(text, places, add);
  else visitAsciiWords(text, places, add);
}

const isAsciiLetter = Uint8Array.from({ length: 128 }, (_, unit) => (classifyUnit(unit) === LETTER ? 1 : 0));

/** Passes the words where one of the places is. Only counts the others, as most of a text is read for its positions. */
function visitAsciiWords(text: string, places: readonly number[], add: AddWord): void {
  let position = 0;
  let wasLetter = 0;
  let index = 0;
  let wordEnd = 0;
  for (const place of places) {
    if (place < wordEnd) continue;
    let start = place;
    for (; index <= place; index++) {
      const isLetter = isAsciiLetter[text.charCodeAt(index)] ?? 0;
      if (isLetter > wasLetter) {
        position += 1;
        start = index;
      }
      wasLetter = isLetter;
    }
    if (position > MAX_DOCUMENT_WORDS) return;
    while (start > 0 && isAsciiLetter[text.charCodeAt(start - 1)] === 1) start -= 1;
    wordEnd = place;
    while (isAsciiLetter[text.charCodeAt(wordEnd)] === 1) wordEnd += 1;
    add(start, wordEnd, position);
  }
}

/** Letters outside of ASCII, which may be written in several ways; signs and pictures are none. */
function hasOtherLetters(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 127 && (isSurrogate(unit) || classifyUnit(unit) !== SEPARATOR)) return true;
  }
  return false;
}

/** Passes also every word with a letter outside of ASCII. */
function visitAllWords(text: string, places: readonly number[], add: AddWord): void {
  let position = 0;
  let next = 0;
  visitWords(text, (start, end, isAscii) => {
    position += 1;
    if (position > MAX_DOCUMENT_WORDS) return false;
    while (next < places.length && (places[next] ?? 0) < start) next += 1;
    if (!isAscii || (places[next] ?? text.length) < end) add(start, end, position);
    return true;
  });
}

/** The places where any of the parts begins, ascending. */
function findParts(folded: string, parts: readonly string[]): number[] {
  const places: number[] = [];
  for (const part of parts) {
    for (let at = folded.indexOf(part); at >= 0; at = folded.indexOf(part, at + 1)) places.push(at);
  }
  return parts.length > 1 ? places.sort((a, b) => a - b) : places;
}

const matchesQuery = (positions: WordPositions, query: SearchQuery): boolean =>
  query.some((terms) => terms.every((term) => matchesTerm(positions, term) !== term.isNegated));

/** Consecutive words; parts of a name are at its own position. */
function matchesTerm(positions: WordPositions, term: SearchTerm): boolean {
  let ends: readonly number[] = [];
  for (const [index, word] of term.words.entries()) {
    const places = listPositions(positions, word, isBeginning(term, index));
    if (index === 0) ends = places;
    else {
      const following = new Set(places);
      ends = ends.map((end) => end + 1).filter((end) => following.has(end));
    }
    if (ends.length === 0) return false;
  }
  return true;
}

function listPositions(positions: WordPositions, word: string, isPrefix: boolean): readonly number[] {
  if (!isPrefix) return positions.get(word) ?? [];
  const lists = [...positions].filter(([lexeme]) => lexeme.startsWith(word)).map(([, places]) => places);
  return lists.length === 1 ? (lists[0] ?? []) : [...new Set(lists.flat())].sort((a, b) => a - b);
}

/** The text contains the part, in any case. */
export function createSubstringMatcher(part: string): (text: string) => boolean {
  const folded = foldCase(part);
  return (text) => foldCase(text).includes(folded);
}
