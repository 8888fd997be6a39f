import type { FindingKind, FindingsReport } from '@recount/contract';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatCounted } from '../../format/values.ts';
import { type ExportColumn, ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import type { View } from '../../parts/use-view.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Count, Money, Tokens } from '../../ui/figures.tsx';
import { PlainTable } from '../../ui/plain-table.tsx';
import { Answered } from '../../ui/states.tsx';
import { KINDS, WASTE_KINDS } from '../insights/finding-kinds.ts';

const COLUMNS: readonly ExportColumn[] = [
  toTextColumn('Finding', 'kind'),
  ...toFigureColumns([
    { kind: 'count', label: 'Times', path: 'findings' },
    { kind: 'count', label: 'Sessions', path: 'sessions' },
    { kind: 'money', label: 'Cost', path: 'cost_usd' },
    { kind: 'tokens', label: 'Estimated tokens', path: 'estimated_tokens' },
  ]),
];

const isFound = ({ kind, findings }: { kind: FindingKind; findings: number }): boolean =>
  findings > 0 && WASTE_KINDS.includes(kind);

/** Kinds of findings under the page's filters; each leads to its findings. */
export function Waste({ view: { query, time } }: { view: View }): ReactNode {
  const report = useAnswer('/v1/analytics/findings', { ...query, limit: 1 });
  return (
    <section className="panel" aria-label="Potential waste">
      <div className="between">
        <h2>Potential waste</h2>
        {report.data !== undefined && (
          <ExportMenu
            title="Potential waste"
            columns={COLUMNS}
            rows={report.data.kinds.filter(isFound)}
            filters={report.data.filters}
            time={time}
          />
        )}
      </div>
      <Answered of={report}>
        {({ kinds }) => {
          const found = kinds.filter(isFound);
          const dismissed = kinds.filter(({ kind }) => WASTE_KINDS.includes(kind));
          const count = dismissed.reduce((sum, { dismissed_findings }) => sum + dismissed_findings, 0);
          const note = count > 0 && <p className="muted">{formatCounted(count, 'finding')} dismissed, not included.</p>;
          if (found.length === 0)
            return (
              <>
                <p className="muted">None found.</p>
                {note}
              </>
            );
          return (
            <>
              <WasteTable found={found} time={time} />
              <p className="muted">Kinds can overlap, so they do not add up.</p>
              {note}
            </>
          );
        }}
      </Answered>
    </section>
  );
}

const WasteTable = ({ found, time }: { found: FindingsReport['kinds']; time: View['time'] }): ReactNode => (
  <PlainTable
    className="plain-table waste"
    rows={found}
    toKey={({ kind }) => kind}
    columns={[
      {
        head: 'Finding',
        className: 'part-name',
        cell: ({ kind }) => (
          <Link to="/insights" search={{ ...time, kind } as never} title={KINDS[kind].explanation}>
            {KINDS[kind].label}
          </Link>
        ),
      },
      { head: 'Times', isFigure: true, cell: ({ findings }) => <Count value={findings} /> },
      { head: 'Sessions', isFigure: true, cell: ({ sessions }) => <Count value={sessions} /> },
      {
        head: 'Cost',
        isFigure: true,
        cell: ({ kind, cost_usd, estimated_tokens }) =>
          KINDS[kind].figures.includes('cost') ? (
            <Money value={cost_usd} />
          ) : (
            <>
              ≈ <Tokens value={estimated_tokens} /> tokens
            </>
          ),
      },
    ]}
  />
);
