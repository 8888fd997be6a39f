import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import type { ViewQuery } from '../../parts/use-view.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Duration, Money } from '../../ui/figures.tsx';
import { Answered } from '../../ui/states.tsx';
import { TableHead } from '../../ui/table-head.tsx';

const SHOWN_ROWS = 8;

const FILE_COLUMNS = [
  toTextColumn('Session', 'session_id'),
  toTextColumn('Title', 'title'),
  ...toFigureColumns([
    { kind: 'duration', label: 'Active ms', path: 'active_ms' },
    { kind: 'money', label: 'Cost', path: 'cost_usd' },
  ]),
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
          <table className="plain-table">
            <TableHead columns={['Session', 'Active', 'Cost']} />
            <tbody>
              {sessions.map(({ session_id, title, active_ms, cost_usd, is_subagent }) => (
                <tr key={session_id}>
                  <td className="clip top-name">
                    {is_subagent && <span className="tag">sub-agent</span>}{' '}
                    <Link
                      to="/sessions/$sessionId"
                      params={{ sessionId: session_id } as never}
                      title={title ?? session_id}
                    >
                      {toVisible(title ?? session_id)}
                    </Link>
                  </td>
                  <td className="end">
                    <Duration ms={active_ms} />
                  </td>
                  <td className="end">
                    <Money value={cost_usd} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Answered>
    </section>
  );
}
