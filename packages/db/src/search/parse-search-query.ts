import { MIN_SUBSTRING_RUN, toGrams, toWords, toWorkspaceLexeme } from './search-words.ts';

/** Words in a row. */
export interface SearchTerm {
  words: string[];
  /** The last word is only the beginning of one. */
  isPrefix: boolean;
  isNegated: boolean;
}

/** Alternatives, each of terms that all must be there, or must not. */
export type SearchQuery = SearchTerm[][];

/** Words that a query may have, those of phrases included. */
export const MAX_QUERY_WORDS = 64;

/** What is looked for: words wherever they stand, or a part of the text as it is typed, in any case. */
export type SearchTarget = { mode: 'text'; query: SearchQuery } | { mode: 'substring'; part: string };

/** Why there is nothing to look for. Their texts are for whoever asked. */
export const SEARCH_ISSUES = {
  'no-words': 'Give a word to look for, in each alternative of an `or`: excluded ones and signs alone find nothing',
  'too-many-words': `Give at most ${MAX_QUERY_WORDS} words`,
  'too-short': `Give at least ${MIN_SUBSTRING_RUN} letters or digits in a row; shorter words are found in text mode`,
} as const;
type SearchIssue = keyof typeof SEARCH_ISSUES;

/** What a query asks for in its mode, or why it asks for nothing. */
export function parseSearchTarget(mode: SearchTarget['mode'], text: string): SearchTarget | SearchIssue {
  if (mode === 'substring') return toGrams(text).length === 0 ? 'too-short' : { mode, part: text };
  const query = parseSearchQuery(text);
  return typeof query === 'string' ? query : { mode, query };
}

const TOKENS = /(?<minus>-?)"(?<phrase>[^"]*)(?:"|$)|(?<token>[^\s"]+)/g;

/**
 * Reads a query as people type it: `all these words`, `"in this order"`, `-without`, `this OR that`, `begin*`. Nothing is a
 * syntax error; what has no letter or digit is ignored. A minus counts before a word or a phrase only: `--force` is the
 * word `force`. Every alternative needs a word that is not excluded.
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

/** The query as Postgres reads a tsquery. Words are letters and digits alone: there is nothing to escape. */
export function toTsquery(query: SearchQuery): string {
  return query.map((terms) => `(${terms.map(toTsqueryTerm).join(' & ')})`).join(' | ');
}

/** The same, of one workspace's documents. */
export function toWorkspaceTsquery(workspaceId: string, query?: SearchQuery): string {
  const ofWorkspace = `'${toWorkspaceLexeme(workspaceId).replace(/['\\]/g, '$&$&')}'`;
  return query === undefined ? ofWorkspace : `${ofWorkspace} & (${toTsquery(query)})`;
}

function toTsqueryTerm({ words, isPrefix, isNegated }: SearchTerm): string {
  const phrase = words.map((word) => `'${word}'`).join(' <-> ') + (isPrefix ? ':*' : '');
  return `${isNegated ? '!' : ''}(${phrase})`;
}
