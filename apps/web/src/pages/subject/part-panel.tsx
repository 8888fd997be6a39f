import { toVisible } from '@recount/contract/conversation';
import { SESSIONS_OF_USAGE } from '@recount/contract/reports/page-figures';
import type { PageFigure } from '@recount/contract/reports/report-entry';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { toValueLabel } from '../../format/dimensions.ts';
import { toNoName, toPlainName } from '../../format/plain-name.ts';
import { formatCount, formatPercent } from '../../format/values.ts';
import { type Asked, ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import { ReportFigure, type Row, readFigure, readText } from '../../ui/report-figure.tsx';

import type { Target } from './subject.ts';

const SHOWN_ROWS = 8;
const SESSIONS: PageFigure = { kind: 'count', label: 'Sessions', path: 'sessions', hint: SESSIONS_OF_USAGE };

interface PartPanelProps {
  title: string;
  /** The dimension of the rows. */
  of: { name: string; label: string; shortens?: 'path' | 'model' | undefined };
  rows: readonly Row[];
  /** True if the API has more rows. */
  truncated: boolean;
  figure: PageFigure;
  /** The figure of all rows. */
  total: number | null;
  toTarget: (value: string) => Target;
  asked: Asked;
}

const PartHead = ({ of, figure }: Pick<PartPanelProps, 'of' | 'figure'>): ReactNode => (
  <thead>
    <tr>
      <th scope="col">{of.label}</th>
      <th scope="col" className="end" title={SESSIONS.hint}>
        {SESSIONS.label}
      </th>
      <th scope="col" className="end" title={figure.hint}>
        {figure.label}
      </th>
      <th scope="col" className="end">
        Share
      </th>
    </tr>
  </thead>
);

function PartFigures({ row, figure, total }: Pick<PartPanelProps, 'figure' | 'total'> & { row: Row }): ReactNode {
  const value = readFigure(row, figure);
  const share = value === null || total === null || total <= 0 ? null : value / total;
  return (
    <>
      <td className="end">
        <ReportFigure of={SESSIONS} row={row} />
      </td>
      <td className="end">
        <ReportFigure of={figure} row={row} />
      </td>
      <td className="end share">
        <span className="share-bar" aria-hidden="true" style={{ width: `${(share ?? 0) * 100}%` }} />
        <span>{formatPercent(share)}</span>
      </td>
    </>
  );
}

/** The parts of a total, the largest first, with the share of each. */
export function PartPanel({ title, of, rows, truncated, figure, total, toTarget, asked }: PartPanelProps): ReactNode {
  const [isWhole, setWhole] = useState(false);
  // A single part without a name divides nothing.
  if (rows.every((row) => readText(row, of.name) === null)) return null;
  const shown = isWhole ? rows : rows.slice(0, SHOWN_ROWS);
  const names = rows.map((row) => readText(row, of.name));
  const labels = Map.groupBy(names, (name) => toValueLabel(of, name ?? ''));
  // Short names that several values share would not tell which is which.
  const toLabel = (name: string): string => {
    if (of.name === 'repository') return toPlainName(of.name, name, names);
    const label = toValueLabel(of, name);
    return (labels.get(label)?.length ?? 0) > 1 ? toVisible(name) : label;
  };
  return (
    <section className="panel" aria-label={title}>
      <div className="between">
        <h2>{title}</h2>
        <ExportMenu
          title={title}
          columns={[toTextColumn(of.label, of.name), ...toFigureColumns([SESSIONS, figure])]}
          rows={shown}
          {...asked}
        />
      </div>
      <table className="plain-table">
        <PartHead of={of} figure={figure} />
        <tbody>
          {shown.map((row) => {
            const name = readText(row, of.name);
            return (
              <tr key={name}>
                <td className="clip part-name">
                  {name === null ? (
                    <span className="muted">{toNoName(of.name)}</span>
                  ) : (
                    <Link {...toTarget(name)} title={name}>
                      {toLabel(name)}
                    </Link>
                  )}
                </td>
                <PartFigures row={row} figure={figure} total={total} />
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length > SHOWN_ROWS && (
        <button type="button" className="link" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show fewer' : `Show all ${formatCount(rows.length)}`}
        </button>
      )}
      {isWhole && truncated && <p className="muted">The first {formatCount(rows.length)}; there are more.</p>}
    </section>
  );
}
