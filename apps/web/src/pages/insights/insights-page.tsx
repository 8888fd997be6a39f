import './insights.css';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Query } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { addDays, readPeriod, toToday } from '../../format/period.ts';
import { TIME_ZONE, toShortPath } from '../../format/values.ts';
import { Caveats } from '../../ui/caveats.tsx';
import { Bytes, Count, Money, Percent, Tokens } from '../../ui/figures.tsx';
import { PeriodPicker } from '../../ui/period-picker.tsx';
import { Answered } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/use-url-state.ts';

const DEFAULT_PERIOD = '30d';
const SHOWN_ROWS = 10;

type Filter = Pick<Query<'/v1/analytics/usage'>, 'from' | 'to' | 'time_zone'>;
type Search = Record<string, string>;

/** What is worth a look, as measured: each row leads to the sessions behind it. */
export function InsightsPage(): ReactNode {
  const [state, change] = useUrlState();
  const filter = { ...readPeriod(state, DEFAULT_PERIOD), time_zone: TIME_ZONE };
  const { from, to, period = DEFAULT_PERIOD } = state;
  const time: Search = from || to ? { ...(from && { from }), ...(to && { to }) } : { period };
  return (
    <div className="insights-page">
      <div className="between">
        <h1>Insights</h1>
        <PeriodPicker state={state} fallback={DEFAULT_PERIOD} change={change} />
      </div>
      <p className="muted">Figures are counted; only ≈ tokens are an estimate, a quarter of the bytes of results.</p>
      <Weeks />
      <ReadFiles filter={filter} time={time} />
      <LargeResults filter={filter} time={time} />
      <FailingTools filter={filter} time={time} />
      <DearSessions filter={filter} />
      <PullRequests filter={filter} />
    </div>
  );
}

function Finding({ id, title, children }: { id: string; title: string; children: ReactNode }): ReactNode {
  return (
    <section className="panel" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

/** A table of a finding: the first column names what it is about. */
function Evidence({ label, head, rows }: { label: string; head: readonly string[]; rows: ReactNode[][] }): ReactNode {
  if (rows.length === 0) return <p className="muted">There is nothing of this in this time.</p>;
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <table className="plain-table">
        <thead>
          <tr>
            {head.map((name, column) => (
              <th key={name} scope="col" className={column === 0 ? undefined : 'end'}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, column) => (
                <td key={head[column]} className={column === 0 ? 'clip insight-name' : 'end'}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const toSessions = (search: Search, label: string): ReactNode => (
  <Link to="/sessions" search={{ ...search, subagents: 'include' } as never} title={label}>
    {toShortPath(label)}
  </Link>
);

/** The last seven days beside the seven before, today included. */
function Weeks(): ReactNode {
  const end = addDays(toToday(), 1);
  const middle = addDays(end, -7);
  const start = addDays(end, -14);
  const now = useAnswer('/v1/analytics/usage', { from: middle, to: end, time_zone: TIME_ZONE, group_by: '' });
  const before = useAnswer('/v1/analytics/usage', { from: start, to: middle, time_zone: TIME_ZONE, group_by: '' });
  const toRow = (label: string, from: string, to: string, { totals }: NonNullable<typeof now.data>): ReactNode[] => [
    <Link key="time" to="/sessions" search={{ from, to: addDays(to, -1), subagents: 'include' } as never}>
      {label}
    </Link>,
    <Count key="sessions" value={totals.sessions} />,
    <Tokens key="tokens" value={totals.own.total_tokens} />,
    <Percent key="cached" value={totals.own.cache_hit_ratio} />,
    <Money key="cost" value={totals.own.cost_usd} />,
  ];
  return (
    <Finding id="weeks" title="This week against last">
      <Answered of={now}>
        {(this_) => (
          <Answered of={before}>
            {(last) => (
              <>
                <Caveats caveats={this_.caveats} />
                <Evidence
                  label="This week against last"
                  head={['Time', 'Sessions', 'Tokens', 'Cached', 'Cost']}
                  rows={[toRow('Last 7 days', middle, end, this_), toRow('The 7 days before', start, middle, last)]}
                />
              </>
            )}
          </Answered>
        )}
      </Answered>
    </Finding>
  );
}

function ReadFiles({ filter, time }: { filter: Filter; time: Search }): ReactNode {
  const report = useAnswer('/v1/analytics/files', { ...filter, sort: 'reads', limit: SHOWN_ROWS });
  return (
    <Finding id="files" title="Files that were read most">
      <Answered of={report}>
        {({ rows }) => (
          <Evidence
            label="Files that were read most"
            head={['File', 'Reads', 'In sessions', 'Results', '≈ Tokens']}
            rows={rows.map(({ file_path: file, reads, sessions, output_bytes, estimated_tokens }) => [
              toSessions({ ...time, file }, file),
              <Count key="reads" value={reads} />,
              <Count key="sessions" value={sessions} />,
              <Bytes key="bytes" value={output_bytes} />,
              <Tokens key="tokens" value={estimated_tokens} />,
            ])}
          />
        )}
      </Answered>
    </Finding>
  );
}

function LargeResults({ filter, time }: { filter: Filter; time: Search }): ReactNode {
  const report = useAnswer('/v1/analytics/programs', { ...filter, limit: SHOWN_ROWS });
  return (
    <Finding id="programs" title="Shell commands called most, and what their results bring into the context">
      <Answered of={report}>
        {({ rows }) => (
          <Evidence
            label="Shell commands called most"
            head={['Program', 'Calls', 'Failed', 'Results', '≈ Tokens']}
            rows={rows.map(({ program, calls, errors, output_bytes, estimated_tokens }) => [
              toSessions({ ...time, program }, program),
              <Count key="calls" value={calls} />,
              <Count key="errors" value={errors} />,
              <Bytes key="bytes" value={output_bytes} />,
              <Tokens key="tokens" value={estimated_tokens} />,
            ])}
          />
        )}
      </Answered>
    </Finding>
  );
}

function FailingTools({ filter, time }: { filter: Filter; time: Search }): ReactNode {
  const report = useAnswer('/v1/analytics/tools', {
    ...filter,
    group_by: 'tool',
    percentiles: 'false',
    limit: SHOWN_ROWS,
  });
  return (
    <Finding id="tools" title="Tools called most, and how often they fail">
      <Answered of={report}>
        {({ rows }) => (
          <Evidence
            label="Tools called most"
            head={['Tool', 'Calls', 'Failed', 'Fail rate', 'In sessions']}
            rows={rows.map(({ tool = '', calls, errors, error_rate, sessions }) => [
              toSessions({ ...time, tool }, tool),
              <Count key="calls" value={calls} />,
              <Count key="errors" value={errors} />,
              <Percent key="rate" value={error_rate} />,
              <Count key="sessions" value={sessions} />,
            ])}
          />
        )}
      </Answered>
    </Finding>
  );
}

function DearSessions({ filter }: { filter: Filter }): ReactNode {
  const report = useAnswer('/v1/analytics/sessions', { ...filter, subagents: 'include', top: SHOWN_ROWS });
  return (
    <Finding id="sessions" title="The most expensive sessions">
      <Answered of={report}>
        {({ most_expensive: sessions, caveats }) => (
          <>
            <Caveats caveats={caveats} />
            <Evidence
              label="The most expensive sessions"
              head={['Session', 'Prompts', 'Tokens', 'Cost']}
              rows={sessions.map(({ session_id, title, prompts, total_tokens, cost_usd }) => [
                <Link
                  key="link"
                  to="/sessions/$sessionId"
                  params={{ sessionId: session_id } as never}
                  title={session_id}
                >
                  {title ?? session_id}
                </Link>,
                <Count key="prompts" value={prompts} />,
                <Tokens key="tokens" value={total_tokens} />,
                <Money key="cost" value={cost_usd} />,
              ])}
            />
          </>
        )}
      </Answered>
    </Finding>
  );
}

function PullRequests({ filter }: { filter: Filter }): ReactNode {
  const report = useAnswer('/v1/analytics/pull-requests', { ...filter, limit: SHOWN_ROWS });
  return (
    <Finding id="pull-requests" title="Cost per pull request">
      <Answered of={report}>
        {({ rows, totals, caveats }) => (
          <>
            <Caveats caveats={caveats} />
            {totals.mean_cost_usd !== null && (
              <p>
                <Count value={totals.pull_requests} /> pull requests, <Money value={totals.mean_cost_usd} /> each on
                average.
                {totals.unpriced_responses > 0 && ' Responses without a price are missing from it.'}
              </p>
            )}
            <Evidence
              label="Cost per pull request"
              head={['Pull request', 'Sessions', 'Tokens', 'Cost']}
              rows={rows.map(({ url, sessions, total_tokens, cost_usd, unpriced_responses }) => [
                <span key="url" title={url}>
                  {url.replace(/^https:\/\//, '')}
                </span>,
                <Count key="sessions" value={sessions} />,
                <Tokens key="tokens" value={total_tokens} />,
                <span key="cost">
                  {unpriced_responses > 0 && <span className="tag warn">+?</span>} <Money value={cost_usd} />
                </span>,
              ])}
            />
          </>
        )}
      </Answered>
    </Finding>
  );
}
