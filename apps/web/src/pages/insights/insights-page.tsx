import './insights.css';
import { toVisible } from '@recount/contract/conversation';
import { addDays } from '@recount/contract/periods';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { readFilters } from '../../format/dimensions.ts';
import { toToday } from '../../format/period.ts';
import { TIME_ZONE, toShortModel } from '../../format/values.ts';
import { type ExportColumn, ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import { useView, type ViewQuery } from '../../parts/use-view.ts';
import { ViewBar } from '../../parts/view-bar.tsx';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Count, Money, Percent, Tokens } from '../../ui/figures.tsx';
import { PlainTable } from '../../ui/plain-table.tsx';
import { Answered, Loading } from '../../ui/states.tsx';
import { WasteSummary } from './waste-summary.tsx';

/** Has the list of findings, which is below what is seen first. */
const Findings = lazy(async () => ({ default: (await import('./findings.tsx')).Findings }));

const SHOWN_ROWS = 10;

type Search = Record<string, string>;

/** Measured waste. Each row links to its sessions. */
export function InsightsPage(): ReactNode {
  const view = useView();
  const { query: filter, time, state, change } = view;
  return (
    <div className="insights-page in-order">
      <h1>Insights</h1>
      <ViewBar {...view} />
      {view.isKnown ? (
        <>
          <WasteSummary filter={filter} time={time} />
          <Suspense fallback={<Loading />}>
            <Findings filter={filter} time={time} state={state} change={change} />
          </Suspense>
          <Weeks filters={readFilters(state)} />
          <ModelChoice filter={filter} time={time} />
          <PullRequests filter={filter} time={time} />
        </>
      ) : (
        <Loading />
      )}
    </div>
  );
}

interface SectionProps {
  id: string;
  title: string;
  /** Columns of its table in a file. */
  columns: readonly ExportColumn[];
  /** Undefined until known. */
  answer: { rows: readonly object[]; filters: object } | undefined;
  time: Search;
  children: ReactNode;
}

function Section({ id, title, columns, answer, time, children }: SectionProps): ReactNode {
  return (
    <section className="panel" aria-labelledby={id}>
      <div className="between">
        <h2 id={id}>{title}</h2>
        {answer !== undefined && <ExportMenu title={title} columns={columns} time={time} {...answer} />}
      </div>
      {children}
    </section>
  );
}

const SESSIONS = { kind: 'count', label: 'Sessions', path: 'sessions' } as const;
const TOKENS = { kind: 'tokens', label: 'Tokens', path: 'total_tokens' } as const;
const COST = { kind: 'money', label: 'Cost', path: 'cost_usd' } as const;
const WEEK_COLUMNS = [
  ...['from', 'to'].map((name) => toTextColumn(name, name)),
  ...toFigureColumns([
    SESSIONS,
    { ...TOKENS, path: 'own.total_tokens' },
    { kind: 'percent', label: 'Cache hit rate', path: 'own.cache_hit_ratio' },
    { ...COST, path: 'own.cost_usd' },
  ]),
];
const MODEL_COLUMNS = [
  toTextColumn('Model', 'model'),
  ...toFigureColumns([SESSIONS, TOKENS, COST]),
  toTextColumn('Cheaper model', 'cheaper_model'),
  ...toFigureColumns([{ kind: 'money', label: 'Its cost', path: 'cheaper_cost_usd' }]),
];
const PULL_REQUEST_COLUMNS = [toTextColumn('Pull request', 'url'), ...toFigureColumns([SESSIONS, TOKENS, COST])];

/** A table of findings. The first column names the subject; the next is what narrow windows show as well. */
function Evidence({ label, head, rows }: { label: string; head: readonly string[]; rows: ReactNode[][] }): ReactNode {
  if (rows.length === 0) return <p className="muted">No activity in this period.</p>;
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <PlainTable
        rows={rows}
        toKey={(cells) => rows.indexOf(cells)}
        columns={head.map((name, column) => ({
          head: name,
          isFigure: column > 0,
          className: 'clip insight-name',
          cell: (cells: ReactNode[]) => cells[column],
        }))}
      />
    </div>
  );
}

/** The last seven days, including today, compared with the seven before. */
function Weeks({ filters }: { filters: Partial<ViewQuery> }): ReactNode {
  const end = addDays(toToday(), 1);
  const middle = addDays(end, -7);
  const start = addDays(end, -14);
  const now = useAnswer('/v1/analytics/usage', {
    ...{ from: middle, to: end, time_zone: TIME_ZONE, group_by: '' },
    ...filters,
  });
  const before = useAnswer('/v1/analytics/usage', {
    ...{ from: start, to: middle, time_zone: TIME_ZONE, group_by: '' },
    ...filters,
  });
  const toRow = (label: string, from: string, to: string, { totals }: NonNullable<typeof now.data>): ReactNode[] => [
    <Link key="time" to="/sessions" search={{ from, to: addDays(to, -1), subagents: 'include' } as never}>
      {label}
    </Link>,
    <Money key="cost" value={totals.own.cost_usd} />,
    <Count key="sessions" value={totals.sessions} />,
    <Tokens key="tokens" value={totals.own.total_tokens} />,
    <Percent key="cached" value={totals.own.cache_hit_ratio} />,
  ];
  return (
    <Section
      id="weeks"
      title="Last 7 days vs previous 7"
      columns={WEEK_COLUMNS}
      answer={
        now.data &&
        before.data && {
          filters,
          rows: [
            { ...now.data.totals, from: middle, to: addDays(end, -1) },
            { ...before.data.totals, from: start, to: addDays(middle, -1) },
          ],
        }
      }
      time={{ from: start, to: addDays(end, -1) }}
    >
      <Answered of={now}>
        {(this_) => (
          <Answered of={before}>
            {(last) => (
              <>
                <Evidence
                  label="Last 7 days vs previous 7"
                  head={['Time', 'Cost', 'Sessions', 'Tokens', 'Cache hit rate']}
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
function ModelChoice({ filter, time }: { filter: ViewQuery; time: Search }): ReactNode {
  const report = useAnswer('/v1/analytics/model-choice', { ...filter, limit: SHOWN_ROWS });
  return (
    <Section
      id="models"
      title="What a cheaper model would have cost"
      columns={MODEL_COLUMNS}
      answer={report.data}
      time={time}
    >
      <p className="muted">
        Compares prices only, at the rates of their day, with cheaper models in use of the same maker and its current
        generation. A different model would use different tokens.
      </p>
      <Answered of={report}>
        {({ rows }) => (
          <Evidence
            label="What a cheaper model would have cost"
            head={['Model', 'Cost', 'Cheaper model', 'Its cost', 'Savings', 'Sessions', 'Tokens']}
            rows={rows.map(({ model, sessions, total_tokens, cost_usd, cheaper_model, cheaper_cost_usd }) => [
              <Link key="model" to="/sessions" search={{ ...time, model, subagents: 'include' } as never} title={model}>
                {toShortModel(model)}
              </Link>,
              <Money key="cost" value={cost_usd} />,
              cheaper_model === null ? <span className="muted">No cheaper model</span> : toShortModel(cheaper_model),
              cheaper_cost_usd === null ? '–' : <Money key="cheaper" value={cheaper_cost_usd} />,
              cheaper_cost_usd === null || cost_usd === null ? (
                '–'
              ) : (
                <Percent key="less" value={1 - cheaper_cost_usd / cost_usd} />
              ),
              <Count key="sessions" value={sessions} />,
              <Tokens key="tokens" value={total_tokens} />,
            ])}
          />
        )}
      </Answered>
    </Section>
  );
}

function PullRequests({ filter, time }: { filter: ViewQuery; time: Search }): ReactNode {
  const report = useAnswer('/v1/analytics/pull-requests', { ...filter, limit: SHOWN_ROWS });
  return (
    <Section
      id="pull-requests"
      title="Cost per pull request"
      columns={PULL_REQUEST_COLUMNS}
      answer={report.data}
      time={time}
    >
      <Answered of={report}>
        {({ rows, totals }) => (
          <>
            {totals.mean_cost_usd !== null && (
              <p>
                <Count value={totals.pull_requests} /> pull requests, <Money value={totals.mean_cost_usd} /> each on
                average.
                {totals.unpriced_responses > 0 && ' Responses without a price are missing from it.'}
              </p>
            )}
            <Evidence
              label="Cost per pull request"
              head={['Pull request', 'Cost', 'Sessions', 'Tokens']}
              rows={rows.map(({ url, sessions, total_tokens, cost_usd, unpriced_responses }) => [
                <Link
                  key="url"
                  to="/sessions"
                  search={{ ...time, pull_request: url, subagents: 'include' } as never}
                  title={url}
                >
                  {toVisible(url.replace(/^https:\/\//, ''))}
                </Link>,
                <span key="cost">
                  {unpriced_responses > 0 && <span className="tag warn">+?</span>} <Money value={cost_usd} />
                </span>,
                <Count key="sessions" value={sessions} />,
                <Tokens key="tokens" value={total_tokens} />,
              ])}
            />
          </>
        )}
      </Answered>
    </Section>
  );
}
