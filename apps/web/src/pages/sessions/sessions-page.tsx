import { toVisible } from '@recount/contract/conversation';
import './sessions.css';
import type { Session, SessionList } from '@recount/contract';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import { NO_VIEW } from '../../format/dimensions.ts';
import { TIME_ZONE } from '../../format/values.ts';
import { type ExportColumn, ExportMenu } from '../../parts/export-menu.tsx';
import { useView } from '../../parts/use-view.ts';
import { MeantNames, ViewBar } from '../../parts/view-bar.tsx';
import type { Query } from '../../server-data/client.ts';
import { usePages } from '../../server-data/use-pages.ts';
import { useShowsFigures } from '../../server-data/use-shows.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { COLUMNS, fitColumns, TICK_PX, toTotal } from './columns.tsx';
import { hasListFilters, toSessionHref, toSessionQuery } from './list-query.ts';
import { RunningSessions } from './running-sessions.tsx';
import { SavedViews } from './saved-views.tsx';
import { countFilters, SessionFilters } from './session-filters.tsx';

/** Loaded with the first selection, because it includes the deletion dialog. */
const SelectionBar = lazy(async () => ({ default: (await import('./selection.tsx')).SelectionBar }));

/** The menu, the margins, and the border of the table. */
const BESIDE_TABLE_PX = 248;
const BESIDE_NARROW_TABLE_PX = 28;

const toTableWidth = (): number =>
  innerWidth - (matchMedia('(max-width: 760px)').matches ? BESIDE_NARROW_TABLE_PX : BESIDE_TABLE_PX);

/** All facts of a session that are one value. */
const toFileColumns = ([first = {} as Session]: readonly Session[]): ExportColumn[] =>
  Object.keys(first)
    .filter((name) => typeof Reflect.get(first, name) !== 'object' || Reflect.get(first, name) === null)
    .map((name) => ({ label: name, read: (row) => (Reflect.get(row, name) ?? null) as string | number | null }));

const toFilters = ({ sort, order, limit, totals, ...filters }: Query<'/v1/sessions'>): object => filters;

/** All sessions, filtered by the URL's parameters. */
export function SessionsPage(): ReactNode {
  const view = useView('all');
  const { state, change } = view;
  const showsFigures = useShowsFigures();
  const query = toSessionQuery(state, view.query);
  const { pages, error, loadMore, refetch } = usePages('/v1/sessions', query);
  const rows = useMemo(() => pages?.flatMap(({ sessions }) => sessions) ?? [], [pages]);
  const wanted = state.columns?.split(',') ?? fitColumns(toTableWidth());
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const choose = (sessionIds: readonly string[]): void => setChosen(new Set(sessionIds));
  const totals = pages?.[0]?.totals ?? undefined;
  const columns = [
    toTickColumn(chosen, choose),
    ...COLUMNS.filter(({ id }) => id === 'title' || wanted.includes(id)).map((column) =>
      totals === undefined ? column : { ...column, total: toTotal(column.id, totals) },
    ),
  ];
  const selected = rows.filter(({ session_id }) => chosen.has(session_id));
  const isFiltered = countFilters(state) > 0;

  return (
    <div className="sessions-page">
      <div className="between">
        <h1>Sessions</h1>
        <div className="row">
          <SavedViews state={state} />
          {pages === undefined && error === null && (
            <button type="button" className="dropdown quiet" disabled>
              Export <span aria-hidden="true">▾</span>
            </button>
          )}
          {rows.length > 0 && (
            <ExportMenu
              title="Sessions"
              columns={toFileColumns(rows)}
              rows={rows}
              filters={toFilters(query)}
              time={view.time}
              // Reports have no filters of the list alone.
              part={hasListFilters(state) ? undefined : { kind: 'overview' }}
            />
          )}
          <p className="muted" role="status">
            {pages === undefined
              ? `… · times in ${TIME_ZONE}`
              : `${rows.length.toLocaleString()}${loadMore ? ` of ${totals?.sessions.toLocaleString()} shown` : ' in all'} · times in ${TIME_ZONE}`}
          </p>
        </div>
      </div>
      {showsFigures && <RunningSessions />}
      <ViewBar {...view} />
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
        <NoSessions isFiltered={isFiltered} filters={pages[0]?.filters} />
      ) : (
        <DataTable
          label="Sessions"
          columns={columns}
          rows={rows}
          toId={({ session_id }) => session_id}
          toHref={({ session_id }) => toSessionHref(session_id, state)}
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
  width: `${TICK_PX}px`,
  cell: (session) => (
    <input
      type="checkbox"
      aria-label={`Select ${toVisible(session.title)}`}
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

function NoSessions({
  isFiltered,
  filters,
}: {
  isFiltered: boolean;
  filters: SessionList['filters'] | undefined;
}): ReactNode {
  if (isFiltered) {
    return (
      <Empty title="No session matches these filters">
        {filters !== undefined && <MeantNames filters={filters} />}
        <Link to="/sessions" search={{ ...NO_VIEW, period: 'all' } as never}>
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
