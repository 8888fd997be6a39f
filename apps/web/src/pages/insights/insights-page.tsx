import './insights.css';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { addDays, readPeriod, toTimeSearch, toToday } from '../../format/period.ts';
import { TIME_ZONE, toShortModel } from '../../format/values.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Caveats } from '../../ui/caveats.tsx';
import { Count, Money, Percent, Tokens } from '../../ui/figures.tsx';
import { PeriodPicker } from '../../ui/period-picker.tsx';
import { Answered, Loading } from '../../ui/states.tsx';
import { useDefaultPeriod } from '../../ui/use-default-period.ts';
import { useUrlState } from '../../ui/use-url-state.ts';
import { type Filter, Findings } from './findings.tsx';

const SHOWN_ROWS = 10;

type Search = Record<string, string>;

/** Measured waste. Each row links to its sessions. */
export function InsightsPage(): ReactNode {
  const [state, change] = useUrlState();
  const { fallback, isKnown } = useDefaultPeriod(state);
  const filter = { ...readPeriod(state, fallback), time_zone: TIME_ZONE };
  const time = toTimeSearch(state, fallback);
  if (!isKnown) return <Loading />;
  return (
    <div className="insights-page">
      <div className="between">
        <h1>Insights</h1>
        <PeriodPicker state={state} fallback={fallback} change={change} />
      </div>
      <Findings filter={filter} state={state} change={change} />
      <Weeks />
      <ModelChoice filter={filter} time={time} />
      <PullRequests filter={filter} time={time} />
    </div>
  );
}

function Section({ id, title, children }: { id: string; title: string; children: ReactNode }): ReactNode {
  return (
    <section className="panel" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

/** A table of findings. The first column names the subject. */
function Evidence({ label, head, rows }: { label: string; head: readonly string[]; rows: ReactNode[][] }): ReactNode {
  if (rows.length === 0) return <p className="muted">Nothing in this time range.</p>;
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

/** The last seven days, including today, compared with the seven before. */
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
    <Section id="weeks" title="Last 7 days vs previous 7">
      <Answered of={now}>
        {(this_) => (
          <Answered of={before}>
            {(last) => (
              <>
                <Caveats caveats={this_.caveats} />
                <Evidence
                  label="Last 7 days vs previous 7"
                  head={['Time', 'Sessions', 'Tokens', 'Cache hit rate', 'Cost']}
                  rows={[toRow('Last 7 days', middle, end, this_), toRow('Previous 7 days', start, middle, last)]}
                />
              </>
            )}
          </Answered>
        )}
      </Answered>
    </Section>
  );
}

/** Prices of the same tokens with other models; these might have used more or fewer tokens. */
function ModelChoice({ filter, time }: { filter: Filter; time: Search }): ReactNode {
  const report = useAnswer('/v1/analytics/model-choice', { ...filter, limit: SHOWN_ROWS });
  return (
    <Section id="models" title="What a cheaper model would have cost">
      <p className="muted">
        Compares prices only, at the rates of their day. A different model would use different tokens.
      </p>
      <Answered of={report}>
        {({ rows }) => (
          <Evidence
            label="What a cheaper model would have cost"
            head={['Model', 'Sessions', 'Tokens', 'Cost', 'Cheaper model', 'Its cost', 'Savings']}
            rows={rows.map(({ model, sessions, total_tokens, cost_usd, cheaper_model, cheaper_cost_usd }) => [
              <Link key="model" to="/sessions" search={{ ...time, model, subagents: 'include' } as never} title={model}>
                {toShortModel(model)}
              </Link>,
              <Count key="sessions" value={sessions} />,
              <Tokens key="tokens" value={total_tokens} />,
              <Money key="cost" value={cost_usd} />,
              cheaper_model === null ? <span className="muted">no cheaper model</span> : toShortModel(cheaper_model),
              cheaper_cost_usd === null ? '–' : <Money key="cheaper" value={cheaper_cost_usd} />,
              cheaper_cost_usd === null || cost_usd === null ? (
                '–'
              ) : (
                <Percent key="less" value={1 - cheaper_cost_usd / cost_usd} />
              ),
            ])}
          />
        )}
      </Answered>
    </Section>
  );
}

function PullRequests({ filter, time }: { filter: Filter; time: Search }): ReactNode {
  const report = useAnswer('/v1/analytics/pull-requests', { ...filter, limit: SHOWN_ROWS });
  return (
    <Section id="pull-requests" title="Cost per pull request">
      <Answered of={report}>
        {({ rows, totals, caveats }) => (
          <>
            <Caveats caveats={caveats} time={time} />
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
                <Link
                  key="url"
                  to="/sessions"
                  search={{ ...time, pull_request: url, subagents: 'include' } as never}
                  title={url}
                >
                  {toVisible(url.replace(/^https:\/\//, ''))}
                </Link>,
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
    </Section>
  );
}
