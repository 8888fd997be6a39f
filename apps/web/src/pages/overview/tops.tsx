import { toVisible } from '@recount/contract/conversation';
import { SESSIONS_OF_USAGE } from '@recount/contract/reports/page-figures';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { toShortModel, toShortPath } from '../../format/values.ts';
import type { Query } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Count, Duration, Money, Percent, Tokens } from '../../ui/figures.tsx';
import { Answered } from '../../ui/states.tsx';

const SHOWN_ROWS = 8;

type Filter = Pick<Query<'/v1/analytics/usage'>, 'from' | 'to' | 'time_zone'>;

/** The largest contributors; each row links to its sessions. */
/** The `time` of the sessions that a row leads to. */
type TopsProps = { query: Filter; time: Record<string, string> };

export function Tops({ query, time }: TopsProps): ReactNode {
  return (
    <div className="two">
      <TopUsage title="Projects" by="project" query={query} time={time} />
      <TopUsage title="Models" by="model" query={query} time={time} />
      <TopSessions query={query} />
      <TopTools query={query} time={time} />
    </div>
  );
}

function TopUsage({ title, by, query, time }: TopsProps & { title: string; by: 'project' | 'model' }): ReactNode {
  const report = useAnswer('/v1/analytics/usage', { ...query, group_by: by, limit: SHOWN_ROWS });
  return (
    <section className="panel">
      <h2>{title}</h2>
      <Answered of={report}>
        {({ rows }) => (
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{title.slice(0, -1)}</th>
                <th scope="col" className="end" title={SESSIONS_OF_USAGE}>
                  Sessions
                </th>
                <th scope="col" className="end">
                  Tokens
                </th>
                <th scope="col" className="end">
                  Cost
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => {
                const name = row[by] ?? null;
                const label = by === 'model' ? toShortModel(name) : toShortPath(name);
                return (
                  <tr key={name}>
                    <td className="clip top-name">
                      {name === null ? (
                        <span className="muted">none</span>
                      ) : (
                        <Link
                          to="/sessions"
                          search={{ ...time, [by]: name, subagents: 'include' } as never}
                          title={name}
                        >
                          {label}
                        </Link>
                      )}
                    </td>
                    <td className="end">
                      <Count value={row.sessions} />
                    </td>
                    <td className="end">
                      <Tokens value={row.own.total_tokens} />
                    </td>
                    <td className="end">
                      <Money value={row.own.cost_usd} />
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </Answered>
    </section>
  );
}

function TopSessions({ query }: { query: Filter }): ReactNode {
  const report = useAnswer('/v1/analytics/sessions', { ...query, top: SHOWN_ROWS, subagents: 'include' });
  return (
    <section className="panel">
      <h2>Most expensive sessions</h2>
      <Answered of={report}>
        {({ most_expensive: sessions }) => (
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">Session</th>
                <th scope="col" className="end">
                  Active
                </th>
                <th scope="col" className="end">
                  Cost
                </th>
              </tr>
            </thead>
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

function TopTools({ query, time }: TopsProps): ReactNode {
  const report = useAnswer('/v1/analytics/tools', {
    ...query,
    group_by: 'tool',
    limit: SHOWN_ROWS,
    percentiles: 'false',
  });
  return (
    <section className="panel">
      <h2>Tools</h2>
      <Answered of={report}>
        {({ rows }) => (
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">Tool</th>
                <th scope="col" className="end">
                  Calls
                </th>
                <th scope="col" className="end">
                  Failed
                </th>
                <th scope="col" className="end">
                  Mean
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ tool = '', calls, error_rate, duration_mean_ms }) => (
                <tr key={tool}>
                  <td className="clip top-name">
                    <Link to="/sessions" search={{ ...time, tool, subagents: 'include' } as never} title={tool}>
                      {toVisible(tool)}
                    </Link>
                  </td>
                  <td className="end">
                    <Count value={calls} />
                  </td>
                  <td className="end">
                    <Percent value={error_rate} />
                  </td>
                  <td className="end">
                    <Duration ms={duration_mean_ms} />
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
