import './search.css';
import type { SearchResult, SearchResultList } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { toShortPath } from '../../format/values.ts';
import { type ExportColumn, ExportMenu, toTextColumn } from '../../parts/export-menu.tsx';
import { toResultSearch } from '../../parts/result-search.ts';
import { useView, type View } from '../../parts/use-view.ts';
import { MeantNames, ViewBar } from '../../parts/view-bar.tsx';
import { get, type Query } from '../../server-data/client.ts';
import { Choice } from '../../ui/choice.tsx';
import { Time } from '../../ui/figures.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';

const PAGE_RESULTS = 50;
const TYPING_PAUSE_MS = 250;

const KINDS = [
  ['', 'Everything'],
  ['prompt', 'prompts'],
  ['answer', 'answers'],
  ['thinking', 'thinking'],
  ['tool_input', 'tool inputs'],
  ['tool_result', 'tool results'],
  ['summary', 'summaries'],
  ['context', 'context'],
] as const;
const MODES = [
  ['text', 'Words'],
  ['substring', 'Any part'],
] as const;
const SORTS = [
  ['relevance', 'Relevance'],
  ['newest', 'Newest'],
] as const;

const KIND_NAMES: Readonly<Record<string, string>> = {
  prompt: 'Prompt',
  answer: 'Answer',
  thinking: 'Thinking',
  tool_input: 'Tool input',
  tool_result: 'Tool result',
  summary: 'Summary',
  context: 'Context',
};

function toQuery({ state, query }: Pick<View, 'state' | 'query'>): Query<'/v1/search'> {
  const { q = '' } = state;
  const pick = <Id extends string>(
    options: readonly (readonly [Id, string])[],
    value: string | undefined,
  ): Id | undefined => options.find(([id]) => id !== '' && id === value)?.[0];
  const kind = KINDS.find(([id]) => id !== '' && id === state.kind)?.[0];
  return {
    q: q.trim(),
    ...(kind && { kind }),
    mode: pick(MODES, state.mode) ?? 'text',
    sort: pick(SORTS, state.sort) ?? 'relevance',
    ...query,
    limit: PAGE_RESULTS,
  };
}

/** Searches the texts of all sessions while the user types. */
export function SearchPage(): ReactNode {
  const view = useView('all');
  const { change } = view;
  const { q = '', kind = '', mode = 'text', sort = 'relevance' } = view.state;
  const [text, setText] = useState(q);
  useEffect(() => {
    if (text === q) return;
    const timer = setTimeout(() => change({ q: text }, { replace: true }), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, q, change]);
  const query = toQuery(view);
  const found = useInfiniteQuery({
    queryKey: ['/v1/search', 'pages', query],
    queryFn: ({ pageParam, signal }): Promise<SearchResultList> =>
      get('/v1/search', { query: { ...query, ...(pageParam !== '' && { cursor: pageParam }) }, signal }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: next }) => next,
    enabled: query.q !== '',
    placeholderData: (previous) => previous,
  });
  const [first] = found.data?.pages ?? [];
  const results = found.data?.pages.flatMap((page) => page.results) ?? [];
  return (
    <div className="search-page">
      <h1>Search</h1>
      <input
        // biome-ignore lint/a11y/noAutofocus: the page is opened to type here
        autoFocus
        type="search"
        aria-label="Search all sessions"
        placeholder={'Words, "words in this order", -without, begin*'}
        value={text}
        maxLength={1000}
        onChange={({ target }) => setText(target.value)}
      />
      <div className="row">
        <Choice
          label="Search in"
          value={kind}
          options={KINDS as readonly (readonly [string, string])[]}
          change={(value) => change({ kind: value })}
        />
        <Choice
          label="Match"
          value={mode}
          options={MODES as readonly (readonly [string, string])[]}
          change={(value) => change({ mode: value })}
        />
        <Choice
          label="Sort"
          value={sort}
          options={SORTS as readonly (readonly [string, string])[]}
          change={(value) => change({ sort: value })}
        />
      </div>
      <ViewBar {...view} />
      {query.q === '' ? (
        <Empty title="Search prompts, answers, thinking, tool inputs and results">
          <p>Matches whole words and parts of identifiers. Use “Any part” for substrings (3+ characters).</p>
        </Empty>
      ) : found.error !== null ? (
        <Failure error={found.error} retry={() => void found.refetch()} />
      ) : first === undefined ? (
        <Loading what="Searching" />
      ) : (
        <>
          <MeantNames filters={first.filters} />
          <ResultsHead found={first} results={results} query={query} time={view.time} />
          {results.length === 0 && (
            <Empty title="Nothing was found">
              <p>Try fewer words, or “any part” for a piece of a word.</p>
            </Empty>
          )}
          {groupBySession(results).map((group) => (
            <SessionResults key={group[0]?.message_id} results={group} />
          ))}
          {found.hasNextPage && (
            <button type="button" disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
              {found.isFetchingNextPage ? 'Searching …' : 'More'}
            </button>
          )}
        </>
      )}
    </div>
  );
}

/** Without the texts, because secrets in them are not replaced. */
const FILE_COLUMNS: readonly ExportColumn[] = [
  ...['session_id', 'title', 'project', 'kind', 'timestamp', 'message_id'].map((name) => toTextColumn(name, name)),
  {
    label: 'link',
    read: (row) => {
      const { session_id, message_id } = row as SearchResult;
      return new URL(`/sessions/${encodeURIComponent(session_id)}?message=${message_id}`, location.href).href;
    },
  },
];

interface ResultsHeadProps {
  found: SearchResultList;
  /** All that are loaded. */
  results: readonly SearchResult[];
  query: Query<'/v1/search'>;
  time: Record<string, string>;
}

/** The number of matches, and the export of those that are loaded. */
const ResultsHead = ({ found, results, query, time }: ResultsHeadProps): ReactNode => (
  <div className="between">
    <MatchCount found={found} />
    {results.length > 0 && (
      <ExportMenu
        title="Search results"
        columns={FILE_COLUMNS}
        rows={results}
        filters={{ ...found.filters, q: query.q, kind: query.kind ?? null, mode: query.mode }}
        time={time}
      />
    )}
  </div>
);

const MatchCount = ({ found }: { found: SearchResultList }): ReactNode => (
  <p className="muted" role="status">
    {found.match_count.toLocaleString()}
    {found.is_match_count_capped ? ' or more' : ''} {found.match_count === 1 ? 'match' : 'matches'}
    {found.waiting_sessions > 0 &&
      `; ${found.waiting_sessions.toLocaleString()} sessions are not indexed yet and may contain more`}
  </p>
);

/** Groups results by session, in the order of each session's first result. */
const groupBySession = (results: readonly SearchResult[]): SearchResult[][] => [
  ...Map.groupBy(results, ({ session_id }) => session_id).values(),
];

function SessionResults({ results }: { results: SearchResult[] }): ReactNode {
  const [first] = results;
  if (first === undefined) return null;
  const toSession = { to: '/sessions/$sessionId', params: { sessionId: first.session_id } as never };
  return (
    <section className="found">
      <h2>
        {first.is_subagent && <span className="tag">sub-agent</span>}{' '}
        <Link {...toSession}>{toVisible(first.title)}</Link> <span className="muted">{toShortPath(first.project)}</span>
      </h2>
      <ol>
        {results.map((result) => (
          <li key={`${result.message_id} ${result.block_order}`}>
            <Link {...toSession} search={toResultSearch(result) as never} className="found-text">
              <span className="tag">{KIND_NAMES[result.kind]}</span>
              <span className="snippet">
                {result.snippet.map(({ text, is_match }, index) =>
                  is_match ? <mark key={index}>{toVisible(text)}</mark> : toVisible(text),
                )}
              </span>
              <span className="muted">
                <Time iso={result.timestamp} />
                {result.copy_count > 1 && `, ${result.copy_count} copies`}
              </span>
            </Link>
          </li>
        ))}
      </ol>
    </section>
  );
}
