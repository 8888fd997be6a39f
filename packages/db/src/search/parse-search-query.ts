import { MIN_SUBSTRING_RUN, toGrams, toWords } from './search-words.ts';

/** Consecutive words. */
export interface SearchTerm {
  words: string[];
  /** The last word is only a prefix. */
  isPrefix: boolean;
  isNegated: boolean;
}

/** Alternatives, each a list of terms that must all be present, or absent. */
export type SearchQuery = SearchTerm[][];

/** Maximum number of words in a query, including words of phrases. */
export const MAX_QUERY_WORDS = 64;

/** The search terms (words anywhere, or a literal part of the text, ignoring case). */
export type SearchTarget = { mode: 'text'; query: SearchQuery } | { mode: 'substring'; part: string };

/** Why a query has nothing to search for. The texts are shown to the user. */
export const SEARCH_ISSUES = {
  'no-words':
    'Add at least one search term to each alternative of an `or`; exclusions and punctuation alone match nothing',
  'too-many-words': `Use at most ${MAX_QUERY_WORDS} words`,
  'too-short': `Use at least ${MIN_SUBSTRING_RUN} letters or digits in a row; shorter words are found in text mode`,
} as const;
type SearchIssue = keyof typeof SEARCH_ISSUES;

/** Parses a query in its mode, or returns why there is nothing to search for. */
export function parseSearchTarget(mode: SearchTarget['mode'], text: string): SearchTarget | SearchIssue {
  if (mode === 'substring') return toGrams(text).length === 0 ? 'too-short' : { mode, part: text };
  const query = parseSearchQuery(text);
  return typeof query === 'string' ? query : { mode, query };
}

const TOKENS = /(?<minus>-?)"(?<phrase>[^"]*)(?:"|$)|(?<token>[^\s"]+)/g;

/**
 * Parses a query as people type it: `all these words`, `"in this order"`, `-without`, `this OR that`, `begin*`. There
 * are no syntax errors; anything without a letter or digit is ignored. A minus counts only before a word or a phrase:
 * `--force` is the word `force`. Every alternative needs a word that is not excluded.
 */
export function parseSearchQuery(text: string): SearchQuery | SearchIssue {
  const alternatives: SearchQuery = [[]];
  let wordCount = 0;
  for (const { groups: { minus = '', phrase, token = '' } = {} } of text.matchAll(TOKENS)) {
    if (phrase === undefined && /^or$/i.test(token)) {
      alternatives.push([]);
      continue;
    }
    const isNegated = phrase === undefined ? /^-[\p{L}\p{N}]/u.test(token) : minus === '-';
    const words = Array.from(toWords(phrase ?? token), ({ lexemes }) => lexemes[0] ?? '').filter((word) => word !== '');
    if (words.length === 0) continue;
    wordCount += words.length;
    if (wordCount > MAX_QUERY_WORDS) return 'too-many-words';
    alternatives.at(-1)?.push({ words, isPrefix: phrase === undefined && token.endsWith('*'), isNegated });
  }
  // `a or` and `or b` are a and b.
  const query = alternatives.filter((terms) => terms.length > 0);
  const isAnswerable = query.every((terms) => terms.some(({ isNegated }) => !isNegated));
  return query.length > 0 && isAnswerable ? query : 'no-words';
}

/** The query as a tsquery. Words consist only of letters and digits, so nothing needs escaping. */
export function toTsquery(query: SearchQuery): string {
  return query.map((terms) => `(${terms.map(toTsqueryTerm).join(' & ')})`).join(' | ');
}

function toTsqueryTerm({ words, isPrefix, isNegated }: SearchTerm): string {
  const phrase = words.map((word) => `'${word}'`).join(' <-> ') + (isPrefix ? ':*' : '');
  return `${isNegated ? '!' : ''}(${phrase})`;
}
