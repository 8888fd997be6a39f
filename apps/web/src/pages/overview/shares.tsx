import type { ChangesReport, UsageReport } from '@recount/contract';
import { SESSIONS_OF_USAGE } from '@recount/contract/reports/page-figures';
import type { ReactNode } from 'react';
import type { Period } from '../../format/period.ts';
import { formatChange, formatMoney } from '../../format/values.ts';
import { type ExportColumn, ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import { fillTimes } from '../../ui/chart/bar-times.ts';
import type { Step } from '../../ui/chart/step.ts';
import { Count, Money, Percent } from '../../ui/figures.tsx';
import { NameLink, readName, type SharedDimension } from './name-link.tsx';

const SHOWN_ROWS = 7;
const TITLES: Readonly<Record<SharedDimension, string>> = {
  repository: 'Repositories',
  person: 'People',
  model: 'Models',
};
const DIMENSIONS = Object.keys(TITLES) as SharedDimension[];
const FILE_FIGURES = toFigureColumns([
  { kind: 'count', label: 'Sessions', path: 'sessions' },
  { kind: 'tokens', label: 'Tokens', path: 'own.total_tokens' },
  { kind: 'money', label: 'Cost', path: 'own.cost_usd' },
]);
const toFileColumns = (dimension: SharedDimension): ExportColumn[] => [
  toTextColumn(dimension, dimension),
  ...FILE_FIGURES,
];

/** The breakdowns that the shares are read from; their report may be grouped by anything. */
export const listShareBreakdowns = (step: Step): string[] =>
  DIMENSIONS.flatMap((dimension) => [dimension, `${step},${dimension}`]);

interface SharesProps {
  report: UsageReport;
  /** The changes against the period before, if there is one. */
  changes: ChangesReport | undefined;
  before: string | undefined;
  period: Period;
  step: Step;
  time: Record<string, string>;
}

/** The most expensive repositories, people and models, each with its share, its course and its change. */
export function Shares(props: SharesProps): ReactNode {
  return (
    <div className="shares">
      {DIMENSIONS.map((dimension) => (
        <Share key={dimension} dimension={dimension} {...props} />
      ))}
    </div>
  );
}

function Share({
  dimension,
  report,
  changes,
  before,
  period,
  step,
  time,
}: SharesProps & { dimension: SharedDimension }): ReactNode {
  const listRows = (keys: string) => report.breakdowns?.find(({ group_by }) => group_by.join() === keys)?.rows ?? [];
  const rows = listRows(dimension);
  const byTime = Map.groupBy(listRows(`${step},${dimension}`), (row) => readName(row, dimension));
  const times = fillTimes(
    report.rows.flatMap((row) => row[step] ?? []),
    step,
    period,
  );
  const changed = new Map(listChanges(changes, dimension).map((row) => [readName(row, dimension), row]));
  const names = rows.map((row) => readName(row, dimension));
  const whole = report.totals.own.cost_usd;
  const title = TITLES[dimension];
  return (
    <section className="panel" aria-labelledby={`shares-${dimension}`}>
      <div className="between">
        <h2 id={`shares-${dimension}`}>{title}</h2>
        <ExportMenu
          title={title}
          columns={toFileColumns(dimension)}
          rows={rows}
          filters={report.filters}
          time={time}
          part={{ kind: 'overview' }}
        />
      </div>
      <table className="plain-table share-table">
        <ShareHead />
        <tbody>
          {rows.slice(0, SHOWN_ROWS).map((row) => {
            const name = readName(row, dimension);
            const { cost_usd } = row.own;
            const share = whole === null || whole === 0 || cost_usd === null ? null : cost_usd / whole;
            const earlier = changed.get(name)?.previous_cost_usd;
            const values = new Map((byTime.get(name) ?? []).map((part) => [part[step] ?? '', part.own.cost_usd ?? 0]));
            const change =
              before === undefined ? undefined : formatChange(cost_usd, earlier, { format: formatMoney, before });
            return (
              <tr key={name}>
                <td>
                  <span className="clip share-name">
                    <NameLink dimension={dimension} name={name} others={names} time={time} />
                  </span>
                  <span className="share-bar" aria-hidden="true">
                    <span style={{ width: `${(share ?? 0) * 100}%` }} />
                  </span>
                </td>
                <td className="share-course">
                  <Course values={times.map((at) => values.get(at) ?? 0)} />
                </td>
                <td className="end">
                  <Count value={row.sessions} />
                </td>
                <td className="end">
                  <Money value={cost_usd} />
                  <ShareNote share={share} change={change} before={before} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length > SHOWN_ROWS && (
        <p className="muted">
          The {SHOWN_ROWS} most expensive of {rows.length}.
        </p>
      )}
    </section>
  );
}

interface ShareNoteProps {
  share: number | null;
  change: string | undefined;
  before: string | undefined;
}

const ShareNote = ({ share, change, before }: ShareNoteProps): ReactNode => (
  <span className="muted share-note" title={change}>
    <Percent value={share} />
    {change !== undefined && ` · ${change.replace(` vs ${before}`, '')}`}
  </span>
);

const ShareHead = (): ReactNode => (
  <thead>
    <tr>
      <th scope="col">Name</th>
      <th scope="col" className="share-course">
        <span className="hidden-label">Course</span>
      </th>
      <th scope="col" className="end" title={SESSIONS_OF_USAGE}>
        Sessions
      </th>
      <th scope="col" className="end">
        Cost
      </th>
    </tr>
  </thead>
);

const listChanges = (changes: ChangesReport | undefined, dimension: SharedDimension) =>
  dimension === 'repository'
    ? (changes?.rows ?? [])
    : (changes?.breakdowns?.find(({ group_by }) => group_by.join() === dimension)?.rows ?? []);

const COURSE = { width: 100, height: 22 };

/** A line without scale: only its form is read. */
function Course({ values }: { values: readonly number[] }): ReactNode {
  const max = Math.max(...values);
  if (values.length < 2 || max <= 0) return null;
  const points = values.map((value, index) => {
    const x = (index / (values.length - 1)) * COURSE.width;
    return `${x.toFixed(1)},${(COURSE.height - 1 - (value / max) * (COURSE.height - 2)).toFixed(1)}`;
  });
  return (
    <svg viewBox={`0 0 ${COURSE.width} ${COURSE.height}`} preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points.join(' ')} />
    </svg>
  );
}
