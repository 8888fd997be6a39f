import './breakdowns.css';
import { toVisible } from '@recount/contract/conversation';
import { Link, useNavigate } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useMemo } from 'react';
import { toFilterSearch, toSubjectPath, toValueLabel } from '../../format/dimensions.ts';
import { toNoName, toPlainName } from '../../format/plain-name.ts';
import { formatCount } from '../../format/values.ts';
import { ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import type { SharedPart } from '../../parts/share-view.tsx';
import { Trend, TrendPlace } from '../../parts/trend.tsx';
import { TrustLine } from '../../parts/trust-line.tsx';
import { useView, type View } from '../../parts/use-view.ts';
import { MeantNames, ViewBar } from '../../parts/view-bar.tsx';
import { useAnswer } from '../../server-data/use-answer.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ReportFigure, type Row, readFigure, readText } from '../../ui/report-figure.tsx';
import { Answered, Empty, Loading } from '../../ui/states.tsx';
import { stringifySearch } from '../../ui/use-url-state.ts';
import { type Breakdown, findSubject, listBreakdowns, readDetail, toSessionFilters } from './breakdowns.ts';

// Loads after the table, and only on the pages that show it.
const WholeMatrix = lazy(async () => ({ default: (await import('../subject/whole-matrix.tsx')).WholeMatrix }));

const SHOWN_ROWS = 1000;

const BREAKDOWNS = {
  tools: listBreakdowns('tools'),
  files: listBreakdowns('files'),
  projects: listBreakdowns('projects'),
  models: listBreakdowns('models'),
  subagents: listBreakdowns('subagents'),
  people: listBreakdowns('people'),
  reconciliation: listBreakdowns('reconciliation'),
};

export const ToolsPage = (): ReactNode => <BreakdownPage title="Tools" breakdowns={BREAKDOWNS.tools} />;
export const FilesPage = (): ReactNode => <BreakdownPage title="Files" breakdowns={BREAKDOWNS.files} />;
export const ProjectsPage = (): ReactNode => <BreakdownPage title="Projects" breakdowns={BREAKDOWNS.projects} />;
export const ModelsPage = (): ReactNode => <BreakdownPage title="Models" breakdowns={BREAKDOWNS.models} />;
export const SubagentsPage = (): ReactNode => <BreakdownPage title="Sub-agents" breakdowns={BREAKDOWNS.subagents} />;
export const PeoplePage = (): ReactNode => <BreakdownPage title="People and machines" breakdowns={BREAKDOWNS.people} />;
export const ReconciliationPage = (): ReactNode => (
  <BreakdownPage title="Reconciliation" breakdowns={BREAKDOWNS.reconciliation} />
);

/** A report with its totals, its course day by day, and its rows, and each row links to its sessions. */
function BreakdownPage({ title, breakdowns }: { title: string; breakdowns: readonly Breakdown[] }): ReactNode {
  const view = useView();
  const { state, change } = view;
  const shown = breakdowns.find(({ id }) => id === state.view) ?? breakdowns[0];
  if (shown === undefined) return null;
  return (
    <div className="breakdown-page in-order">
      <h1>{title}</h1>
      <ViewBar {...view} />
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
      {view.isKnown ? <Report key={shown.id} breakdown={shown} view={view} /> : <Loading />}
    </div>
  );
}

/** Subjects that are shown against people. */
const WITH_MATRIX = ['person', 'model', 'repository'];

interface ReportProps {
  breakdown: Breakdown;
  view: View;
}

function Report({ breakdown, view }: ReportProps): ReactNode {
  const { query, time, change } = view;
  const ours = breakdown.isForeign ? [] : breakdown.figures;
  const cost = ours.find(({ kind, isOfRowsOnly }) => kind === 'money' && !isOfRowsOnly);
  const matrix = WITH_MATRIX.includes(breakdown.name) ? findSubject(breakdown) : undefined;
  const report = useAnswer(breakdown.route, { ...breakdown.query, ...query, limit: SHOWN_ROWS });
  return (
    <Answered of={report}>
      {({ rows, totals, caveats, truncated, filters }) =>
        rows.length === 0 ? (
          <Empty title="No activity in this period">
            <MeantNames filters={filters} />
            {breakdown.source !== undefined && <p>{breakdown.source}</p>}
            {query.from !== undefined && (
              <button type="button" onClick={() => change({ period: 'all', from: undefined, to: undefined })}>
                Show all time
              </button>
            )}
          </Empty>
        ) : (
          <>
            <MeantNames filters={filters} />
            <dl className="totals">
              {breakdown.figures
                .filter(({ isOfRowsOnly }) => !isOfRowsOnly)
                .map((figure) => (
                  <div key={figure.label}>
                    <dt title={figure.hint}>{figure.label}</dt>
                    <dd>
                      <Link
                        to="/sessions"
                        search={{ ...time, subagents: 'include' } as never}
                        title="Sessions in this time range"
                      >
                        <ReportFigure of={figure} row={totals} />
                      </Link>
                    </dd>
                  </div>
                ))}
            </dl>
            {cost !== undefined && (
              <TrustLine caveats={caveats} cost={readFigure(totals, cost)} query={query} time={time} />
            )}
            <DailyTrend breakdown={breakdown} view={view} />
            <Rows breakdown={breakdown} rows={rows} view={view} filters={filters} />
            {truncated && (
              <p className="muted">The first {formatCount(rows.length)} are shown; the totals are of all of them.</p>
            )}
            {matrix !== undefined && (
              <Suspense fallback={null}>
                <WholeMatrix subject={matrix} view={view} />
              </Suspense>
            )}
          </>
        )
      }
    </Answered>
  );
}

type Search = Record<string, string>;

/** The target of a row's name (its own page if it has one, otherwise its sessions) and its sessions. */
interface Links {
  to: string;
  search: Search;
  sessions: Search;
}

/** Undefined for a row without a name, because nothing can be filtered by a missing name. */
function toLinks(breakdown: Breakdown, row: Row, { state, time }: View): Links | undefined {
  if (readText(row, breakdown.name) === null) return undefined;
  const ofRow = toSessionFilters(breakdown, row).flatMap(([name, value]) => (value == null ? [] : [[name, value]]));
  const sessions: Search = { ...toFilterSearch(state), ...time, ...Object.fromEntries(ofRow) };
  const subject = findSubject(breakdown);
  if (subject === undefined) return { to: '/sessions', search: sessions, sessions };
  const { subagents: _subagents, ...search } = sessions;
  return { to: toSubjectPath(subject), search, sessions };
}

/** The width of a column of figures, so that its label and the arrow of its order fit. */
const toHeadWidthPx = (label: string): number => Math.max(96, 8 * label.length + 28);

/** Rows that are texts or sessions cannot be shared as figures. */
const toPart = ({ page, id, route }: Breakdown): SharedPart | undefined =>
  route === '/v1/analytics/files' || id === 'session'
    ? undefined
    : { kind: 'table', table: `${page}/${id}` as NonNullable<SharedPart['table']> };

function Rows({ breakdown, rows, view, filters }: ReportProps & { rows: readonly Row[]; filters: object }): ReactNode {
  const { noun, figures, label } = breakdown;
  const { state, change, time } = view;
  const { sort, order = 'desc' } = state;
  const sorted = useMemo(() => {
    const figure = figures.find(({ label }) => label === sort);
    if (figure === undefined) return rows;
    const direction = order === 'asc' ? 1 : -1;
    const toValue = (row: Row): number => readFigure(row, figure) ?? Number.NEGATIVE_INFINITY;
    return rows.toSorted((a, b) => direction * (toValue(a) - toValue(b)));
  }, [rows, figures, sort, order]);
  const names = useMemo(() => rows.map((row) => readText(row, breakdown.name)), [rows, breakdown]);
  const part = toPart(breakdown);
  const exported = [toTextColumn(noun, breakdown.name), ...toFigureColumns(figures)];
  return (
    <>
      <div className="between">
        <h2>{label}</h2>
        <ExportMenu title={label} columns={exported} rows={sorted} filters={filters} time={time} part={part} />
      </div>
      <DataTable
        label={label}
        columns={toColumns(breakdown, view, names)}
        rows={sorted}
        toId={(row) => JSON.stringify([readText(row, breakdown.name), readDetail(breakdown, row)])}
        toHref={(row) => {
          const links = toLinks(breakdown, row, view);
          return links === undefined
            ? location.pathname + location.search
            : `${links.to}${stringifySearch(links.search)}`;
        }}
        sort={{
          by: sort ?? '',
          order: order === 'asc' ? 'asc' : 'desc',
          change: (by, next) => change({ sort: by, order: next }),
        }}
      />
    </>
  );
}

function toColumns(breakdown: Breakdown, view: ReportProps['view'], names: readonly (string | null)[]): Column<Row>[] {
  return [
    {
      id: 'name',
      label: breakdown.noun,
      width: 'minmax(164px, 4fr)',
      cell: (row) => <RowName breakdown={breakdown} row={row} names={names} links={toLinks(breakdown, row, view)} />,
    },
    ...breakdown.figures.map(
      (figure): Column<Row> => ({
        id: figure.label,
        label: figure.label,
        hint: figure.hint,
        width: `minmax(${toHeadWidthPx(figure.label)}px, 1fr)`,
        sort: figure.label,
        isFigure: true,
        cell: (row) => {
          const shown = <ReportFigure of={figure} row={row} />;
          const links = figure.path === 'sessions' ? toLinks(breakdown, row, view) : undefined;
          if (links === undefined) return shown;
          return (
            <Link to="/sessions" search={links.sessions as never} title="Its sessions">
              {shown}
            </Link>
          );
        },
      }),
    ),
  ];
}

interface RowNameProps {
  breakdown: Breakdown;
  row: Row;
  /** The names in all rows. */
  names: readonly (string | null)[];
  links: Links | undefined;
}

/** Shown by the part that people say. The host and the owner of a repository follow. */
function RowName({ breakdown, row, names, links }: RowNameProps): ReactNode {
  const name = readText(row, breakdown.name);
  const plain =
    name !== null && breakdown.shortens === undefined
      ? toPlainName(breakdown.name, name, names)
      : toValueLabel(breakdown, name ?? '');
  const isCut = breakdown.name === 'repository' && name !== null && plain !== toVisible(name);
  const host = isCut ? name.slice(0, name.lastIndexOf('/')) : undefined;
  const detail = readDetail(breakdown, row) ?? host;
  return (
    <>
      {name === null || links === undefined ? (
        <span className="muted">{toNoName(breakdown.name)}</span>
      ) : (
        <Link to={links.to} search={links.search as never} title={name}>
          {breakdown.name === 'agent' && <Icon name={`agent-${name}`} />}
          {plain}
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
}

const TREND_DAYS = 1000;

/** Each bar links to the sessions of its day. Keeps its place until its answer is there, so that nothing below it moves. */
function DailyTrend({ breakdown: { route, trend }, view: { query, time } }: ReportProps): ReactNode {
  const report = useAnswer(route, { ...trend?.query, ...query, limit: TREND_DAYS }, { isEnabled: trend !== undefined });
  const navigate = useNavigate();
  if (trend === undefined) return null;
  if (report.data === undefined) return report.error === null ? <TrendPlace /> : null;
  return (
    <Trend
      rows={report.data.rows as Row[]}
      step="day"
      figure={trend.figure}
      asked={{ filters: report.data.filters, time }}
      period={query}
      open={(from, to) => void navigate({ to: '/sessions', search: { from, to, subagents: 'include' } } as never)}
    />
  );
}
