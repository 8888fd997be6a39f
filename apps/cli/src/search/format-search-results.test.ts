import type { SearchResult, SearchResultList } from '@recount/contract';
import { describe, expect, it } from 'vitest';
import { formatSearchResults } from './format-search-results.ts';

const result: SearchResult = {
  session_id: 'session-1',
  transcript_id: '01J00000000000000000000001',
  message_id: '01J00000000000000000000002',
  block_order: 0,
  kind: 'tool_result',
  timestamp: '2026-03-02T10:00:00.000Z',
  is_subagent: true,
  line_number: 7,
  byte_offset: 1234,
  project: '/home/ada/app',
  title: 'Fix the\ninvoice',
  initial_prompt: null,
  copy_count: 2,
  is_cut: false,
  snippet: [
    { text: '…one\n\tcent \u001B[31mtoo ', is_match: false },
    { text: 'much', is_match: true },
    { text: ' money', is_match: false },
  ],
};
const toList = (fields: Partial<SearchResultList> = {}): SearchResultList => ({
  results: [result],
  filters: {
    agent: null,
    repository: null,
    project: null,
    git_branch: null,
    machine: null,
    person: null,
    team: null,
    cost_centre: null,
    kind_of_work: null,
    model: null,
    unmatched: [],
  },
  match_count: 1,
  is_match_count_capped: false,
  waiting_sessions: 0,
  next_cursor: null,
  ...fields,
});
const plain = { timeZone: 'UTC', isColored: false, maxWidth: 80 };

describe('formatSearchResults', () => {
  it('prints a command that is safe for any id that an uploader made up', () => {
    const results = [{ ...result, session_id: '$(id); a' }];
    expect(formatSearchResults(toList({ results }), plain)[2]).toBe("  recount show '$(id); a' --line 7  (2 copies)");
  });

  it('shows what was found and where, without control sequences', () => {
    expect(formatSearchResults(toList(), plain)).toEqual([
      '2026-03-02 10:00Z  tool_result (sub-agent)  app  Fix the invoice',
      '  …one cent [31mtoo much money',
      '  recount show session-1 --line 7  (2 copies)',
      '',
      '1 of 1.',
    ]);
  });

  it('highlights on a terminal', () => {
    expect(formatSearchResults(toList(), { ...plain, isColored: true })[1]).toBe(
      '  …one cent [31mtoo \u001B[1;33mmuch\u001B[0m money',
    );
  });

  it('fits the terminal', () => {
    const narrow = formatSearchResults(toList(), { ...plain, maxWidth: 20 });
    expect(narrow.slice(0, 3)).toEqual(['2026-03-02 10:00Z…', '  …one cent [31mtoo', '  much money']);
  });

  it('leaves out what is unknown', () => {
    const bare = { ...result, timestamp: null, project: null, title: 'session-1', is_subagent: false, copy_count: 1 };
    expect(formatSearchResults(toList({ results: [bare] }), plain).slice(0, 3)).toEqual([
      'tool_result  session-1',
      '  …one cent [31mtoo much money',
      '  recount show session-1 --line 7',
    ]);
  });

  it.each([
    [{ results: [], match_count: 0 }, ['Nothing found.']],
    [{ match_count: 2000 }, ['1 of 2,000. More: --limit N, or narrow it down.']],
    [{ match_count: 5000, is_match_count_capped: true }, ['1 of 5,000 or more. More: --limit N, or narrow it down.']],
    [
      { results: [], match_count: 0, waiting_sessions: 3 },
      ['Nothing found.', 'Not completely indexed yet: 3 sessions.'],
    ],
  ])('ends with the number of hits: %j', (fields, footnotes) => {
    expect(formatSearchResults(toList(fields), plain).slice(-footnotes.length)).toEqual(footnotes);
  });
});
