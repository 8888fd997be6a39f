import { toVisible } from '@recount/contract/conversation';
import type { PageFigure } from '@recount/contract/reports/report-entry';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { formatCount } from '../../format/values.ts';
import { type Asked, type ExportColumn, ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Time } from '../../ui/figures.tsx';
import { ReportFigure, type Row, readFigure, readText } from '../../ui/report-figure.tsx';
import { toSessionHref } from '../sessions/list-query.ts';
import { measureOf, type Place } from './subject.ts';

const toId = (row: Row): string => readText(row, 'session') ?? '';
const toTitle = (row: Row): string => toVisible(readText(row, 'session_title') ?? toId(row));

const toFileColumns = (figures: readonly PageFigure[]): ExportColumn[] => [
  toTextColumn('Session', 'session'),
  toTextColumn('Title', 'session_title'),
  toTextColumn('Started', 'session_start'),
  ...toFigureColumns(figures),
];

/** `Most expensive sessions`, `Sessions by output`. */
const toHeading = ({ label, kind }: PageFigure, order: 'asc' | 'desc'): string =>
  kind === 'money' && order === 'desc' ? 'Most expensive sessions' : `Sessions by ${label.toLowerCase()}`;

/** The sessions of a total. Each has what of it is its own, so that they add up to the row of totals. */
export function SessionRows({
  place: { subject, view },
  rows,
  totals,
  truncated,
  asked,
}: {
  place: Place;
  rows: readonly Row[];
  totals: Row;
  truncated: boolean;
  asked: Asked;
}): ReactNode {
  const { main, figures } = measureOf(subject);
  const { state, change } = view;
  // The main figure is beside the name, because narrow windows show only the first columns.
  const shown = [main, ...figures.filter((figure) => figure !== main && figure.path !== 'sessions')];
  const sortedBy = shown.find(({ label }) => label === state.sort) ?? main;
  const order = state.order === 'asc' ? 'asc' : 'desc';
  const sorted = useMemo(() => {
    const toValue = (row: Row): number => readFigure(row, sortedBy) ?? Number.NEGATIVE_INFINITY;
    return rows.toSorted((a, b) => (order === 'asc' ? toValue(a) - toValue(b) : toValue(b) - toValue(a)));
  }, [rows, sortedBy, order]);
  // The page of a session lists these beside it.
  const listSearch = {
    subagents: 'include',
    ...(state.tool && { tool: state.tool }),
    ...(sortedBy.kind === 'money' && { sort: 'cost_estimate_usd', order }),
  };
  return (
    <section aria-labelledby="sessions" className="subject-sessions">
      <div className="between">
        <h2 id="sessions">{toHeading(sortedBy, order)}</h2>
        <ExportMenu title="Sessions" columns={toFileColumns(shown)} rows={sorted} {...asked} />
      </div>
      <p className="muted">
        Each with what happened in this time under these filters and is counted once, so they add up to the total.
      </p>
      <DataTable
        label="Sessions"
        columns={toColumns(shown, totals, listSearch)}
        rows={sorted}
        toId={toId}
        toHref={(row) => toSessionHref(toId(row), listSearch)}
        sort={{
          by: sortedBy.label,
          order,
          change: (by, next) => change({ sort: by, order: next }, { replace: true }),
        }}
      />
      {truncated && (
        <p className="muted">
          The first {formatCount(rows.length)} by {main.label.toLowerCase()}; the total is of all sessions.
        </p>
      )}
    </section>
  );
}

/** The name, then the figures, then the start. Names link to the page of a session with that search. */
function toColumns(figures: readonly PageFigure[], totals: Row, search: object): Column<Row>[] {
  return [
    {
      id: 'session',
      label: 'Session',
      width: 'minmax(200px, 4fr)',
      total: <SessionCount totals={totals} />,
      cell: (row) => (
        <Link
          to="/sessions/$sessionId"
          params={{ sessionId: toId(row) } as never}
          search={search as never}
          title={toTitle(row)}
        >
          {row.is_subagent === true && <span className="tag">sub-agent</span>} {toTitle(row)}
        </Link>
      ),
    },
    ...figures.map(
      (figure: PageFigure): Column<Row> => ({
        id: figure.label,
        label: figure.label,
        hint: figure.hint,
        width: `minmax(${Math.max(92, 8 * figure.label.length + 28)}px, 1fr)`,
        sort: figure.label,
        isFigure: true,
        total: <ReportFigure of={figure} row={totals} />,
        cell: (row) => <ReportFigure of={figure} row={row} />,
      }),
    ),
    {
      id: 'start',
      label: 'Started',
      width: '152px',
      isFigure: true,
      cell: (row) => <Time iso={readText(row, 'session_start')} />,
    },
  ];
}

function SessionCount({ totals }: { totals: Row }): ReactNode {
  const sessions = readFigure(totals, { path: 'sessions' });
  return (
    <>
      Total of <data value={sessions ?? 0}>{formatCount(sessions)}</data> {sessions === 1 ? 'session' : 'sessions'}
    </>
  );
}
