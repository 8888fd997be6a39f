import type { SessionsReport } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import type { ViewQuery } from '../../parts/use-view.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Duration, Money } from '../../ui/figures.tsx';
import { type PlainColumn, PlainTable } from '../../ui/plain-table.tsx';
import { Answered } from '../../ui/states.tsx';

const SHOWN_ROWS = 8;

const FILE_COLUMNS = [
  toTextColumn('Session', 'session_id'),
  toTextColumn('Title', 'title'),
  ...toFigureColumns([
    { kind: 'duration', label: 'Active ms', path: 'active_ms' },
    { kind: 'money', label: 'Cost', path: 'cost_usd' },
  ]),
];

const COLUMNS: readonly PlainColumn<SessionsReport['most_expensive'][number]>[] = [
  {
    head: 'Session',
    className: 'clip top-name',
    cell: ({ session_id, title, is_subagent }) => (
      <>
        {is_subagent && <span className="tag">sub-agent</span>}{' '}
        <Link to="/sessions/$sessionId" params={{ sessionId: session_id } as never} title={title ?? session_id}>
          {toVisible(title ?? session_id)}
        </Link>
      </>
    ),
  },
  { head: 'Active', isFigure: true, cell: ({ active_ms }) => <Duration ms={active_ms} /> },
  { head: 'Cost', isFigure: true, cell: ({ cost_usd }) => <Money value={cost_usd} /> },
];

export function TopSessions({ query, time }: { query: ViewQuery; time: Record<string, string> }): ReactNode {
  const report = useAnswer('/v1/analytics/sessions', { ...query, top: SHOWN_ROWS, subagents: 'include' });
  return (
    <section className="panel">
      <div className="between">
        <h2>Most expensive sessions</h2>
        {report.data !== undefined && (
          <ExportMenu
            title="Most expensive sessions"
            columns={FILE_COLUMNS}
            rows={report.data.most_expensive}
            filters={report.data.filters}
            time={time}
          />
        )}
      </div>
      <Answered of={report}>
        {({ most_expensive: sessions }) => (
          <PlainTable columns={COLUMNS} rows={sessions} toKey={({ session_id }) => session_id} />
        )}
      </Answered>
    </section>
  );
}
