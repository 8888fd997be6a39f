import type { FindingKind, FindingsReport } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { formatCount, formatMoney, toShortPath } from '../../format/values.ts';
import { ExportMenu, toFactColumns } from '../../parts/export-menu.tsx';
import type { Answer } from '../../server-data/client.ts';
import { send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { useIsAdmin, useShowsAllTexts } from '../../server-data/use-shows.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Time } from '../../ui/figures.tsx';
import { type PlainColumn, PlainTable } from '../../ui/plain-table.tsx';
import { Answered } from '../../ui/states.tsx';
import { KINDS } from './finding-kinds.ts';

const DismissDialog = lazy(async () => ({ default: (await import('./dismiss-dialog.tsx')).DismissDialog }));

type Finding = FindingsReport['rows'][number];
type Dismissal = Answer<'/v1/findings/dismissals'>['dismissals'][number];

/** Opens the form that dismisses a finding. */
export function DismissButton({ finding }: { finding: Finding }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="quiet" onClick={() => setOpen(true)}>
        Dismiss
      </button>
      <Suspense>{isOpen && <DismissDialog finding={finding} close={() => setOpen(false)} />}</Suspense>
    </>
  );
}

interface DismissedLineProps {
  kind: FindingKind;
  figures: FindingsReport['kinds'][number] | undefined;
  isShown: boolean;
  show: (isShown: boolean) => void;
}

/** The number of dismissed findings of a kind and their cost, with a way to see them. */
export function DismissedLine({ kind, figures, isShown, show }: DismissedLineProps): ReactNode {
  const { dismissed_findings: count = 0, dismissed_cost_usd: cost = null } = figures ?? {};
  if (count === 0 && !isShown) return null;
  const hasCost = KINDS[kind].figures.includes('cost');
  return (
    <p className="row">
      <span className="muted">
        {formatCount(count)} dismissed{hasCost && count > 0 && `, ${formatMoney(cost)}`}
      </span>
      <button type="button" className="quiet" aria-pressed={isShown} onClick={() => show(!isShown)}>
        {isShown ? 'Back to the others' : 'Show'}
      </button>
    </p>
  );
}

/** All that was dismissed, by whom and why, folded. */
export function DismissalList(): ReactNode {
  const isEnabled = useShowsAllTexts();
  const list = useAnswer('/v1/findings/dismissals', {}, { isEnabled });
  const mayChange = useIsAdmin();
  if (!isEnabled || list.data?.dismissals.length === 0) return null;
  return (
    <Answered of={list}>
      {({ dismissals }) => (
        <details className="dismissals">
          <summary>Dismissed ({formatCount(dismissals.length)}): by whom and why</summary>
          <div className="menu-above">
            <ExportMenu
              title="Dismissed findings"
              columns={toFactColumns(dismissals)}
              rows={dismissals}
              filters={{}}
              time={{}}
            />
            <div className="scroll-x" tabIndex={0} role="region" aria-label="Dismissed findings">
              <PlainTable
                columns={mayChange ? [...COLUMNS, RESTORE] : COLUMNS}
                rows={dismissals}
                toKey={({ id }) => id}
              />
            </div>
          </div>
        </details>
      )}
    </Answered>
  );
}

const COLUMNS: readonly PlainColumn<Dismissal>[] = [
  { head: 'Finding', cell: ({ kind }) => KINDS[kind].label },
  {
    head: 'Of',
    className: 'clip insight-name',
    cell: ({ subject_type, subject, title }) => (
      <>
        {subject_type}{' '}
        {subject_type === 'session' ? (
          <Link to="/sessions/$sessionId" params={{ sessionId: subject } as never} title={subject}>
            {toVisible(title ?? subject)}
          </Link>
        ) : (
          <span title={subject}>{toShortPath(subject)}</span>
        )}
      </>
    ),
  },
  { head: 'Reason', cell: ({ reason }) => (reason === null ? '–' : toVisible(reason)) },
  {
    head: 'By',
    title: ({ dismissed_by }) => dismissed_by,
    cell: ({ dismissed_by, dismissed_by_name }) => dismissed_by_name ?? dismissed_by,
  },
  { head: 'Time', cell: ({ dismissed_at }) => <Time iso={dismissed_at} /> },
];

const RESTORE: PlainColumn<Dismissal> = {
  head: 'Restore',
  cell: ({ id }) => (
    <ActButton
      label="Restore"
      act={() => send('delete', '/v1/findings/dismissals/{dismissal_id}', { parameters: { dismissal_id: id } })}
      refresh={() => queryClient.invalidateQueries()}
    />
  ),
};
