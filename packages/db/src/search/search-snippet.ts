import { visitWordsWith } from './match-text.ts';
import type { SearchQuery, SearchTerm } from './parse-search-query.ts';
import { foldCase, type TextWord, toLexemes } from './search-words.ts';

/** Part of a snippet. Parts follow one another; the matching ones contain the search terms. */
export interface SnippetPart {
  text: string;
  is_match: boolean;
}

interface Place {
  start: number;
  end: number;
  /** Index of the search term. */
  term: number;
}

/** Length of a snippet in UTF-16 units; a longer match is cut. */
const MAX_SNIPPET_LENGTH = 280;
const LEAD_LENGTH = 60;
const SHOWN_LENGTH = MAX_SNIPPET_LENGTH - LEAD_LENGTH;
/** A cut moves back to the previous space, if there is one this near. */
const MAX_WORD_CUT = 20;
/** Further matches are ignored. */
const MAX_PLACES = 1000;

/** The excerpt of a text that has most of a query's terms, with all their matches in it. */
export function toWordSnippet(text: string, query: SearchQuery): SnippetPart[] {
  return toSnippet(
    text,
    findTerms(
      text,
      query.flat().filter(({ isNegated }) => !isNegated),
    ),
  );
}

/** The excerpt of a text around the first matches of `part`, ignoring case. */
export function toSubstringSnippet(text: string, part: string): SnippetPart[] {
  const places: Place[] = [];
  const [folded, wanted] = [foldCase(text), foldCase(part)];
  let start = folded.indexOf(wanted);
  while (start >= 0 && places.length < MAX_PLACES) {
    places.push({ start, end: start + wanted.length, term: 0 });
    start = folded.indexOf(wanted, start + wanted.length);
  }
  return toSnippet(text, places);
}

function findTerms(text: string, terms: readonly SearchTerm[]): Place[] {
  const longest = Math.max(...terms.map(({ words }) => words.length));
  let recent: TextWord[] = [];
  let lastPosition = 0;
  const places: Place[] = [];
  const parts = new Set(terms.flatMap(({ words }) => words));
  visitWordsWith(text, [...parts], (start, end, position) => {
    if (places.length >= MAX_PLACES) return;
    if (position > lastPosition + 1) recent = [];
    else if (recent.length === longest) recent.shift();
    lastPosition = position;
    recent.push({ start, end, lexemes: toLexemes(text.slice(start, end)) });
    for (const [index, term] of terms.entries()) {
      const phrase = recent.slice(-term.words.length);
      if (phrase.length < term.words.length || !matches(phrase, term)) continue;
      places.push({ start: phrase[0]?.start ?? start, end, term: index });
    }
  });
  return places.sort((a, b) => a.start - b.start);
}

function matches(phrase: readonly TextWord[], { words, isPrefix }: SearchTerm): boolean {
  return words.every((wanted, index) => {
    const lexemes = phrase[index]?.lexemes ?? [];
    const isBeginning = isPrefix && index === words.length - 1;
    return lexemes.some((lexeme) => (isBeginning ? lexeme.startsWith(wanted) : lexeme === wanted));
  });
}

function toSnippet(text: string, places: readonly Place[]): SnippetPart[] {
  const first = findBestPlace(places);
  const start = first === undefined ? 0 : toWordStart(text, Math.max(0, first.start - LEAD_LENGTH), first.start);
  const end = toCharacterStart(text, Math.min(text.length, start + MAX_SNIPPET_LENGTH));
  const parts: SnippetPart[] = [];
  let at = start;
  const add = (to: number, isMatch: boolean): void => {
    if (to > at) parts.push({ text: text.slice(at, to), is_match: isMatch });
    at = Math.max(at, to);
  };
  for (const place of places) {
    if (place.end <= at || place.start >= end) continue;
    add(Math.min(place.start, end), false);
    add(Math.min(place.end, end), true);
  }
  add(end, false);
  if (start > 0) parts.unshift({ text: '…', is_match: false });
  if (end < text.length) parts.push({ text: '…', is_match: false });
  return parts;
}

/** The first place where a snippet would show the most different terms. */
function findBestPlace(places: readonly Place[]): Place | undefined {
  let best: { place: Place; terms: number } | undefined;
  const terms = new Map<number, number>();
  let next = 0;
  for (const place of places) {
    for (let other = places[next]; other && other.start < place.start + SHOWN_LENGTH; other = places[next]) {
      terms.set(other.term, (terms.get(other.term) ?? 0) + 1);
      next += 1;
    }
    if (best === undefined || terms.size > best.terms) best = { place, terms: terms.size };
    const count = (terms.get(place.term) ?? 0) - 1;
    if (count > 0) terms.set(place.term, count);
    else terms.delete(place.term);
  }
  return best?.place;
}

/** The start of the next word, if it is near and not after `limit`. */
function toWordStart(text: string, index: number, limit: number): number {
  if (index === 0) return 0;
  const space = /\s/.exec(text.slice(index, Math.min(limit, index + MAX_WORD_CUT)));
  return space === null ? toCharacterStart(text, index) : index + space.index + 1;
}

/** Moves out of the middle of a surrogate pair. */
function toCharacterStart(text: string, index: number): number {
  return /[\uDC00-\uDFFF]/.test(text.charAt(index)) ? index - 1 : index;
}
