import './search.css';
import type { SearchResult, SearchResultList } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { readPeriod } from '../../format/period.ts';
import { TIME_ZONE, toShortPath } from '../../format/values.ts';
import { get, type Query } from '../../server-data/client.ts';
import { Choice } from '../../ui/choice.tsx';
import { Time } from '../../ui/figures.tsx';
import { PeriodPicker } from '../../ui/period-picker.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { type UrlState, useUrlState } from '../../ui/use-url-state.ts';
import { toTitle } from '../sessions/to-title.ts';

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

function toQuery(state: UrlState): Query<'/v1/search'> {
  const { q = '', project, agent, model } = state;
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
    ...(project && { project }),
    ...(agent && { agent }),
    ...(model && { model }),
    ...readPeriod(state, 'all'),
    time_zone: TIME_ZONE,
    limit: PAGE_RESULTS,
  };
}

/** Searches the texts of all sessions while the user types. */
export function SearchPage(): ReactNode {
  const [state, change] = useUrlState();
  const { q = '', kind = '', mode = 'text', sort = 'relevance' } = state;
  const [text, setText] = useState(q);
  useEffect(() => {
    if (text === q) return;
    const timer = setTimeout(() => change({ q: text }, { replace: true }), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, q, change]);
  const query = toQuery(state);
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
        <PeriodPicker state={state} fallback="all" change={change} />
      </div>
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
          <p className="muted" role="status">
            {first.match_count.toLocaleString()}
            {first.is_match_count_capped ? ' or more' : ''} {first.match_count === 1 ? 'match' : 'matches'}
            {first.waiting_sessions > 0 &&
              `; ${first.waiting_sessions.toLocaleString()} sessions are not indexed yet and may contain more`}
          </p>
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
        {first.is_subagent && <span className="tag">sub-agent</span>} <Link {...toSession}>{toTitle(first)}</Link>{' '}
        <span className="muted">{toShortPath(first.project)}</span>
      </h2>
      <ol>
        {results.map((result) => (
          <li key={`${result.message_id} ${result.block_order}`}>
            <Link {...toSession} search={{ message: result.message_id } as never} className="found-text">
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
