import './breakdowns.css';
import { toVisible } from '@recount/contract/conversation';
import type { PageFigure } from '@recount/contract/reports/report-entry';
import { Link, useNavigate } from '@tanstack/react-router';
import { type MouseEvent, type ReactNode, useMemo } from 'react';
import { DEFAULT_PERIOD, readPeriod, toTimeSearch } from '../../format/period.ts';
import { formatCount, formatMoney, TIME_ZONE, toShortModel, toShortPath } from '../../format/values.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Caveats } from '../../ui/caveats.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Bytes, Count, Duration, Money, Percent, Tokens } from '../../ui/figures.tsx';
import { PeriodPicker } from '../../ui/period-picker.tsx';
import { Answered, Empty, Loading } from '../../ui/states.tsx';
import { useDefaultPeriod } from '../../ui/use-default-period.ts';
import { stringifySearch, type UrlChange, type UrlState, useUrlState } from '../../ui/use-url-state.ts';
import {
  type Breakdown,
  listBreakdowns,
  type Row,
  readDetail,
  readFigure,
  readText,
  toSessionFilters,
} from './breakdowns.ts';

const SHOWN_ROWS = 1000;

const BREAKDOWNS = {
  tools: listBreakdowns('tools'),
  files: listBreakdowns('files'),
  projects: listBreakdowns('projects'),
  models: listBreakdowns('models'),
  subagents: listBreakdowns('subagents'),
  people: listBreakdowns('people'),
};

export const ToolsPage = (): ReactNode => <BreakdownPage title="Tools" breakdowns={BREAKDOWNS.tools} />;
export const FilesPage = (): ReactNode => <BreakdownPage title="Files" breakdowns={BREAKDOWNS.files} />;
export const ProjectsPage = (): ReactNode => <BreakdownPage title="Projects" breakdowns={BREAKDOWNS.projects} />;
export const ModelsPage = (): ReactNode => <BreakdownPage title="Models" breakdowns={BREAKDOWNS.models} />;
export const SubagentsPage = (): ReactNode => <BreakdownPage title="Sub-agents" breakdowns={BREAKDOWNS.subagents} />;
export const PeoplePage = (): ReactNode => <BreakdownPage title="People and machines" breakdowns={BREAKDOWNS.people} />;

/** A report with its totals, its course day by day, and its rows, and each row links to its sessions. */
function BreakdownPage({ title, breakdowns }: { title: string; breakdowns: readonly Breakdown[] }): ReactNode {
  const [url, change] = useUrlState();
  const { fallback, isKnown } = useDefaultPeriod(url);
  const state: UrlState = { period: fallback, ...url };
  const shown = breakdowns.find(({ id }) => id === state.view) ?? breakdowns[0];
  if (shown === undefined) return null;
  return (
    <div className="breakdown-page">
      <div className="between">
        <h1>{title}</h1>
        <PeriodPicker state={url} fallback={fallback} change={change} />
      </div>
      {breakdowns.length > 1 && (
        <div className="segments" role="group" aria-label="What to show">
          {breakdowns.map(({ id, label }) => (
            <button
              key={id}
              type="button"
              aria-pressed={id === shown.id}
              onClick={() =>
                change({ view: id === breakdowns[0]?.id ? undefined : id, sort: undefined, order: undefined })
              }
            >
              {label}
            </button>
          ))}
        </div>
      )}
      {isKnown ? <Report key={shown.id} breakdown={shown} state={state} change={change} /> : <Loading />}
    </div>
  );
}

interface ReportProps {
  breakdown: Breakdown;
  state: UrlState;
  change: (change: UrlChange) => void;
}

function Report({ breakdown, state, change }: ReportProps): ReactNode {
  const period = { ...readPeriod(state, DEFAULT_PERIOD), time_zone: TIME_ZONE };
  const report = useAnswer(breakdown.route, { ...breakdown.query, ...period, limit: SHOWN_ROWS });
  return (
    <Answered of={report}>
      {({ rows, totals, caveats, truncated }) =>
        rows.length === 0 ? (
          <Empty title="Nothing in this time range">
            {state.period !== 'all' && (
              <button type="button" onClick={() => change({ period: 'all', from: undefined, to: undefined })}>
                Show all time
              </button>
            )}
          </Empty>
        ) : (
          <>
            <dl className="totals">
              {breakdown.figures
                .filter(({ isOfRowsOnly }) => !isOfRowsOnly)
                .map((figure) => (
                  <div key={figure.label}>
                    <dt title={figure.hint}>{figure.label}</dt>
                    <dd>
                      <Link
                        to="/sessions"
                        search={{ ...toTimeSearch(state, DEFAULT_PERIOD), subagents: 'include' } as never}
                        title="Sessions in this time range"
                      >
                        {toFigure(figure, totals)}
                      </Link>
                    </dd>
                  </div>
                ))}
            </dl>
            <Caveats caveats={caveats} />
            <Trend breakdown={breakdown} period={period} />
            <Rows breakdown={breakdown} rows={rows} state={state} change={change} />
            {truncated && (
              <p className="muted">The first {formatCount(rows.length)} are shown; the totals are of all of them.</p>
            )}
          </>
        )
      }
    </Answered>
  );
}

function Rows({ breakdown, rows, state, change }: ReportProps & { rows: readonly Row[] }): ReactNode {
  const { noun, figures } = breakdown;
  const toName = (row: Row): string | null => readText(row, breakdown.name);
  const { sort, order = 'desc', period = DEFAULT_PERIOD, from, to } = state;
  const time = from !== undefined || to !== undefined ? { from, to } : { period };
  const toSearch = (row: Row): Record<string, string> | undefined => {
    // Sessions cannot be filtered by a missing name.
    if (toName(row) === null) return undefined;
    const all = [...toSessionFilters(breakdown, row), ...Object.entries(time)];
    return Object.fromEntries(all.flatMap(([name, value]) => (value == null ? [] : [[name, value]])));
  };
  const sorted = useMemo(() => {
    const figure = figures.find(({ label }) => label === sort);
    if (figure === undefined) return rows;
    const direction = order === 'asc' ? 1 : -1;
    const toValue = (row: Row): number => readFigure(row, figure) ?? Number.NEGATIVE_INFINITY;
    return rows.toSorted((a, b) => direction * (toValue(a) - toValue(b)));
  }, [rows, figures, sort, order]);
  const table: Column<Row>[] = [
    {
      id: 'name',
      label: noun,
      width: 'minmax(164px, 2.5fr)',
      cell: (row) => {
        const name = toName(row);
        const search = toSearch(row);
        const detail = readDetail(breakdown, row);
        return (
          <>
            {name === null || search === undefined ? (
              <span className="muted">unknown</span>
            ) : (
              <Link to="/sessions" search={search as never} title={name}>
                {toLabel(breakdown, name)}
              </Link>
            )}
            {detail != null && (
              <span className="muted" title={detail}>
                {' '}
                {toVisible(detail)}
              </span>
            )}
          </>
        );
      },
    },
    ...figures.map(
      (figure): Column<Row> => ({
        id: figure.label,
        label: figure.label,
        hint: figure.hint,
        width: 'minmax(96px, 1fr)',
        sort: figure.label,
        isFigure: true,
        cell: (row) => toFigure(figure, row),
      }),
    ),
  ];
  return (
    <DataTable
      label={breakdown.label}
      columns={table}
      rows={sorted}
      toId={(row) => JSON.stringify([toName(row), readDetail(breakdown, row)])}
      toHref={(row) => {
        const search = toSearch(row);
        return search === undefined ? location.pathname + location.search : `/sessions${stringifySearch(search)}`;
      }}
      sort={{
        by: sort ?? '',
        order: order === 'asc' ? 'asc' : 'desc',
        change: (by, next) => change({ sort: by, order: next }),
      }}
    />
  );
}

function toLabel({ shortens }: Breakdown, name: string): string {
  if (shortens === 'model') return toShortModel(name);
  return shortens === 'path' ? toShortPath(name) : toVisible(name);
}

function toFigure(figure: PageFigure, row: Row): ReactNode {
  const known = readFigure(row, figure);
  switch (figure.kind) {
    case 'money':
      return <Money value={known} />;
    case 'tokens':
      return <Tokens value={known} />;
    case 'count':
      return <Count value={known} />;
    case 'percent':
      return <Percent value={known} />;
    case 'duration':
      return <Duration ms={known} />;
    case 'bytes':
      return <Bytes value={known} />;
  }
}

const TREND_DAYS = 1000;
const TREND_HEIGHT = 60;

/** A bar for each day with data; each links to its sessions. */
function Trend({ breakdown: { route, trend }, period }: { breakdown: Breakdown; period: object }): ReactNode {
  const report = useAnswer(
    route,
    { ...trend?.query, ...period, limit: TREND_DAYS },
    { isEnabled: trend !== undefined },
  );
  const navigate = useNavigate();
  const openDay = ({ target }: MouseEvent): void => {
    const { day } = (target as Element).closest<SVGElement>('[data-day]')?.dataset ?? {};
    if (day !== undefined)
      void navigate({ to: '/sessions', search: { from: day, to: day, subagents: 'include' } } as never);
  };
  if (trend === undefined || report.data === undefined) return null;
  const { kind, label } = trend.figure;
  const days = (report.data.rows as Row[]).flatMap((row) => {
    const day = readText(row, 'day');
    return day === null ? [] : [{ day, value: readFigure(row, trend.figure) ?? 0 }];
  });
  if (days.length < 2) return null;
  const largest = Math.max(...days.map((each) => each.value));
  const toText = (figure: number): string => (kind === 'money' ? formatMoney(figure) : formatCount(figure));
  return (
    <figure className="trend">
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a shortcut; the filters of the sessions do the same */}
      <svg
        onClick={openDay}
        viewBox={`0 0 ${days.length} ${TREND_HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label} by day, from ${days[0]?.day} to ${days.at(-1)?.day}; at most ${toText(largest)} on a day`}
      >
        {days.map(({ day, value: figure }, index) => {
          const height = largest === 0 ? 0 : (figure / largest) * TREND_HEIGHT;
          return (
            <g key={day} data-day={day}>
              <rect className="slot" x={index} width={1} y={0} height={TREND_HEIGHT} />
              <rect x={index + 0.08} width={0.84} y={TREND_HEIGHT - height} height={height} />
              <title>
                {day}: {toText(figure)}
              </title>
            </g>
          );
        })}
      </svg>
      <figcaption className="between muted">
        <span>{days[0]?.day}</span>
        <span>{label} by day with activity</span>
        <span>{days.at(-1)?.day}</span>
      </figcaption>
    </figure>
  );
}
