import { basename } from 'node:path';
import type { SearchResult, SearchResultList } from '@recount/contract';
import { formatCount, formatCountOf, formatTimestamp } from '../terminal/format-values.ts';
import { toShellWord } from '../terminal/shell-word.ts';
import { cutToWidth, toSingleLine, wrapToWidth } from '../terminal/text-width.ts';

export interface SearchLayout {
  /** IANA name; true stands for UTC. */
  timeZone: string | boolean;
  /** Highlights matches and dims places by escape sequences. */
  isColored: boolean;
  /** Maximum width of a snippet. */
  maxWidth: number;
}

const MATCH = '\u001B[1;33m';
const DIM = '\u001B[2m';
const RESET = '\u001B[0m';
const MAX_TITLE_LENGTH = 60;
const INDENT = '  ';

/** For each result its place, its text, the command that opens it, and an empty line; then notes about all results. */
export function formatSearchResults(list: SearchResultList, layout: SearchLayout): string[] {
  const lines = list.results.flatMap((result) => [...formatResult(result, layout), '']);
  return [...lines, ...formatFootnotes(list)];
}

function formatResult(result: SearchResult, { timeZone, isColored, maxWidth }: SearchLayout): string[] {
  const paint = (text: string, style: string): string => (isColored ? `${style}${text}${RESET}` : text);
  const heading = [
    formatTimestamp(result.timestamp, timeZone),
    result.is_subagent ? `${result.kind} (sub-agent)` : result.kind,
    toSingleLine(basename(result.project ?? '')),
    toSingleLine(result.title).slice(0, MAX_TITLE_LENGTH).toWellFormed(),
  ];
  const snippet = result.snippet.map(({ text, is_match: isMatch }) => {
    const shown = toShownText(text);
    return isMatch ? paint(shown, MATCH) : shown;
  });
  const copies = result.copy_count > 1 ? `  (${formatCount(result.copy_count)} copies)` : '';
  return [
    cutToWidth(heading.filter((part) => part !== '').join('  '), maxWidth),
    ...wrapToWidth(snippet.join('').trim(), maxWidth - INDENT.length).map((line) => `${INDENT}${line}`),
    paint(`  recount show ${toShellWord(result.session_id)} --line ${result.line_number}${copies}`, DIM),
  ];
}

/** Like toSingleLine, but keeps the spaces at its ends, because other parts follow. */
const toShownText = (text: string): string => text.replace(/\s+/gu, ' ').replace(/\p{C}/gu, '');

function formatFootnotes(list: SearchResultList): string[] {
  const { results, match_count: count, is_match_count_capped: isCapped, waiting_sessions: waiting } = list;
  const found =
    count === 0 ? 'Nothing found.' : `${results.length} of ${formatCount(count)}${isCapped ? ' or more' : ''}.`;
  const more = count > results.length ? ' More: --limit N, or narrow it down.' : '';
  const missing = waiting === 0 ? [] : [`Not completely indexed yet: ${formatCountOf(waiting, 'session')}.`];
  return [found + more, ...missing];
}
