import type { AddressedReport, FindingKind, WasteKind, WeekOutcome } from '@recount/contract';
import { WASTE_KINDS } from '@recount/contract/choices';
import { toVisible } from '@recount/contract/conversation';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { formatCounted, formatPercent, TIME_ZONE } from '../../format/values.ts';
import { ExportMenu, toFactColumns } from '../../parts/export-menu.tsx';
import type { ViewQuery } from '../../parts/use-view.ts';
import { send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Count, Money, Percent } from '../../ui/figures.tsx';
import { type PlainColumn, PlainTable } from '../../ui/plain-table.tsx';

const AddressDialog = lazy(async () => ({ default: (await import('./address-dialog.tsx')).AddressDialog }));

type Row = AddressedReport['rows'][number];

const isWaste = (kind: FindingKind): kind is WasteKind => WASTE_KINDS.includes(kind as WasteKind);

const OUTCOMES: Readonly<Record<WeekOutcome, string>> = {
  fell: 'It fell.',
  rose: 'It rose.',
  unclear: 'No clear change: weeks differ as much by chance.',
  'too-early': 'Too early to say: it takes two complete weeks of spend after the day.',
  'too-little-data': 'Too little data to say: it takes three complete weeks of spend before the day.',
};

interface AddressedProps {
  kind: FindingKind;
  filter: ViewQuery;
  mayChange: boolean;
}

/** Since when a kind of finding is addressed, and whether its share of the cost fell; the page's time does not matter. */
export function Addressed({ kind, filter, mayChange }: AddressedProps): ReactNode {
  const { from: _from, to: _to, ...filters } = filter;
  const report = useAnswer(
    '/v1/analytics/addressed',
    { ...filters, time_zone: TIME_ZONE },
    { isEnabled: isWaste(kind) },
  );
  const [isOpen, setOpen] = useState(false);
  if (!isWaste(kind) || report.data === undefined) return null;
  const row = report.data.rows.find((each) => each.kind === kind);
  const weeks = report.data.weeks.filter((each) => each.kind === kind);
  return (
    <>
      {row !== undefined && <Comparison row={row} weeks={weeks} />}
      {mayChange && (
        <div className="row">
          <button type="button" onClick={() => setOpen(true)}>
            {row === undefined ? 'Mark as addressed' : 'Edit'}
            {row !== undefined && <span className="hidden-label"> when it was addressed</span>}
          </button>
          {row !== undefined && <Reopen kind={kind} />}
        </div>
      )}
      <Suspense>{isOpen && <AddressDialog kind={kind} row={row} close={() => setOpen(false)} />}</Suspense>
    </>
  );
}

const Reopen = ({ kind }: { kind: WasteKind }): ReactNode => (
  <ActButton
    label="Reopen"
    act={() => send('delete', '/v1/findings/addressed/{kind}', { parameters: { kind } })}
    refresh={() => queryClient.invalidateQueries()}
  />
);

const WEEK_COLUMNS: readonly PlainColumn<AddressedReport['weeks'][number]>[] = [
  { head: 'Week from', cell: ({ from, is_after }) => `${from}${is_after ? ' · after' : ''}` },
  { head: 'Findings', isFigure: true, cell: ({ findings }) => <Count value={findings} /> },
  { head: 'Waste', isFigure: true, cell: ({ waste_usd }) => <Money value={waste_usd} /> },
  { head: 'Cost', isFigure: true, cell: ({ cost_usd }) => <Money value={cost_usd} /> },
  { head: 'Share', isFigure: true, cell: ({ waste_share }) => <Percent value={waste_share} /> },
];

function Comparison({ row, weeks }: { row: Row; weeks: AddressedReport['weeks'] }): ReactNode {
  const { since, note, marked_by, marked_by_name, before, after, outcome, chance } = row;
  return (
    <div className="addressed">
      <p>
        Addressed since {since}, <span title={marked_by}>marked by {marked_by_name ?? marked_by}</span>
        {note !== null && <>: {toVisible(note)}</>}
      </p>
      <p>
        <strong>{OUTCOMES[outcome]}</strong>{' '}
        {[
          { label: 'Before', side: before },
          { label: 'after', side: after },
        ].map(({ label, side }, index) => (
          <span key={label}>
            {index === 1 && '; '}
            {label} <Percent value={side.waste_share} /> of cost in {formatCounted(side.weeks, 'week')} (
            <Money value={side.waste_usd} /> of <Money value={side.cost_usd} />)
          </span>
        ))}
        .
        {chance !== null && (
          <span className="muted">
            {' '}
            {formatPercent(chance)} of all ways to choose as many of these weeks differ at least as much.
          </span>
        )}
      </p>
      {weeks.some(({ cost_usd }) => (cost_usd ?? 0) > 0) && (
        <details>
          <summary>By week</summary>
          <ExportMenu
            title="Weeks"
            columns={toFactColumns(weeks)}
            rows={weeks}
            filters={{ kind: row.kind }}
            time={{}}
          />
          <PlainTable columns={WEEK_COLUMNS} rows={weeks} toKey={({ from }) => from} />
        </details>
      )}
    </div>
  );
}
