import './sessions.css';
import type { Session } from '@recount/contract';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import { readPeriod } from '../../format/period.ts';
import { TIME_ZONE } from '../../format/values.ts';
import type { Query } from '../../server-data/client.ts';
import { usePages } from '../../server-data/use-pages.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { type UrlState, useUrlState } from '../../ui/use-url-state.ts';
import { COLUMNS, DEFAULT_COLUMNS, NARROW_COLUMNS } from './columns.tsx';
import { RunningSessions } from './running-sessions.tsx';
import { SavedViews } from './saved-views.tsx';
import { countFilters, LINKED_FILTERS, SessionFilters } from './session-filters.tsx';
import { toTitle } from './to-title.ts';

/** Loaded with the first selection, because it includes the deletion dialog. */
const SelectionBar = lazy(async () => ({ default: (await import('./selection.tsx')).SelectionBar }));

const PAGE_ROWS = 200;
const SORTS = COLUMNS.flatMap(({ sort }) => (sort === undefined ? [] : [sort]));

const isNarrow = (): boolean => matchMedia('(max-width: 760px)').matches;

export function toSessionQuery(state: UrlState): Query<'/v1/sessions'> {
  const { agent, project, branch, model, person, machine, prompt, subagents = 'exclude' } = state;
  const { min_cost_usd: minCost, max_cost_usd: maxCost } = state;
  const { from, to } = readPeriod(state, 'all');
  return {
    ...(agent && { agent }),
    ...(project && { project }),
    ...(branch && { branch }),
    ...(model && { model }),
    ...(person && { person }),
    ...(machine && { machine }),
    ...(prompt && { prompt }),
    ...(minCost && { min_cost_usd: Number(minCost) }),
    ...(maxCost && { max_cost_usd: Number(maxCost) }),
    ...Object.fromEntries(LINKED_FILTERS.flatMap(([name]) => (state[name] ? [[name, state[name]]] : []))),
    ...(from && { from }),
    ...(to && { to }),
    ...((from || to) && { time_zone: TIME_ZONE }),
    ...(subagents !== 'include' && { is_subagent: subagents === 'only' ? 'true' : 'false' }),
    sort: SORTS.find((sort) => sort === state.sort) ?? 'last_timestamp',
    order: state.order === 'asc' ? 'asc' : 'desc',
    limit: PAGE_ROWS,
  };
}

/** All sessions, filtered by the URL's parameters. */
export function SessionsPage(): ReactNode {
  const [state, change] = useUrlState();
  const query = toSessionQuery(state);
  const { pages, error, loadMore, refetch } = usePages('/v1/sessions', query);
  const rows = useMemo(() => pages?.flatMap(({ sessions }) => sessions) ?? [], [pages]);
  const wanted = state.columns?.split(',') ?? (isNarrow() ? NARROW_COLUMNS : DEFAULT_COLUMNS);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const choose = (sessionIds: readonly string[]): void => setChosen(new Set(sessionIds));
  const columns = [toTickColumn(chosen, choose), ...COLUMNS.filter(({ id }) => id === 'title' || wanted.includes(id))];
  const selected = rows.filter(({ session_id }) => chosen.has(session_id));
  const isFiltered = countFilters(state) > 0;

  return (
    <div className="sessions-page">
      <div className="between">
        <h1>Sessions</h1>
        <div className="row">
          <SavedViews state={state} />
          <p className="muted" role="status">
            {pages &&
              `${rows.length.toLocaleString()}${loadMore ? ' shown, scroll for more' : ' in all'} · times in ${TIME_ZONE}`}
          </p>
        </div>
      </div>
      <RunningSessions />
      <SessionFilters state={state} change={change} columns={wanted} />
      {selected.length > 0 && (
        <Suspense>
          <SelectionBar selected={selected} loaded={rows} choose={choose} />
        </Suspense>
      )}
      {error !== null ? (
        <Failure error={error} retry={refetch} />
      ) : pages === undefined ? (
        <Loading />
      ) : rows.length === 0 ? (
        <NoSessions isFiltered={isFiltered} />
      ) : (
        <DataTable
          label="Sessions"
          columns={columns}
          rows={rows}
          toId={({ session_id }) => session_id}
          toHref={toSessionHref}
          sort={{
            by: query.sort ?? '',
            order: query.order ?? 'desc',
            change: (sort, order) => change({ sort, order }),
          }}
          loadMore={loadMore}
        />
      )}
    </div>
  );
}

const toTickColumn = (
  chosen: ReadonlySet<string>,
  choose: (sessionIds: readonly string[]) => void,
): Column<Session, never> => ({
  id: 'tick',
  label: '',
  width: '32px',
  cell: (session) => (
    <input
      type="checkbox"
      aria-label={`Select ${toTitle(session)}`}
      checked={chosen.has(session.session_id)}
      onChange={({ target }) =>
        choose(
          target.checked
            ? [...chosen, session.session_id]
            : [...chosen].filter((sessionId) => sessionId !== session.session_id),
        )
      }
    />
  ),
});

export const toSessionHref = ({ session_id }: Pick<Session, 'session_id'>): string =>
  `/sessions/${encodeURIComponent(session_id)}`;

function NoSessions({ isFiltered }: { isFiltered: boolean }): ReactNode {
  if (isFiltered) {
    return (
      <Empty title="No session matches these filters">
        <Link to="/sessions" search={{ period: 'all' } as never}>
          Remove all filters
        </Link>
      </Empty>
    );
  }
  return (
    <Empty title="There are no sessions yet">
      <p>
        <code>recount backfill ~/.claude/projects</code> uploads the sessions of this machine;{' '}
        <a href="/docs">the API</a> takes uploads.
      </p>
    </Empty>
  );
}
