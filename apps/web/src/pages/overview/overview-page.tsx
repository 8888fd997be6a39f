import './overview.css';
import type { UsageReport } from '@recount/contract';
import { SESSIONS_OF_USAGE } from '@recount/contract/reports/page-figures';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Period, readPeriod, toPeriodBefore, toTimeSearch } from '../../format/period.ts';
import { formatChange, TIME_ZONE } from '../../format/values.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Caveats } from '../../ui/caveats.tsx';
import { Choice } from '../../ui/choice.tsx';
import { Count, Money, Percent, Tokens } from '../../ui/figures.tsx';
import { PeriodPicker } from '../../ui/period-picker.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { useDefaultPeriod } from '../../ui/use-default-period.ts';
import { useUrlState } from '../../ui/use-url-state.ts';
import { DIMENSIONS, METRICS, STEPS, type Step } from './choices.ts';
import { Health } from './health.tsx';
import { HeatMap } from './heat-map.tsx';
import { Tops } from './tops.tsx';
import { UsageChart } from './usage-chart.tsx';

/** For longer periods, hours would be too narrow to see. */
const MAX_HOUR_DAYS = 14;

function toDays({ from, to }: Period): number {
  return from === undefined || to === undefined
    ? Number.POSITIVE_INFINITY
    : (Date.parse(to) - Date.parse(from)) / 86_400_000;
}

const toDefaultStep = (days: number): Step => (days <= 2 ? 'hour' : days <= 120 ? 'day' : 'week');

/** The use of money and tokens, and the state of the installation. */
export function OverviewPage(): ReactNode {
  const [state, change] = useUrlState();
  const { fallback, isKnown } = useDefaultPeriod(state);
  const period = readPeriod(state, fallback);
  const days = toDays(period);
  const steps = STEPS.filter(([id]) => id !== 'hour' || days <= MAX_HOUR_DAYS);
  const step = steps.find(([id]) => id === state.step)?.[0] ?? toDefaultStep(days);
  const by = DIMENSIONS.find(([id]) => id === state.by)?.[0] ?? 'model';
  const metric = METRICS.find(([id]) => id === state.metric)?.[0] ?? 'cost';
  const query = { ...period, time_zone: TIME_ZONE };
  const time = toTimeSearch(state, fallback);
  const totals = useAnswer('/v1/analytics/usage', { ...query, group_by: step, limit: 10_000 }, { isEnabled: isKnown });
  const before = toPeriodBefore(period);
  const earlier = useAnswer(
    '/v1/analytics/usage',
    { ...before, time_zone: TIME_ZONE, group_by: '' },
    { isEnabled: before !== undefined },
  );
  return (
    <div className="overview">
      <div className="between">
        <h1>Overview</h1>
        <PeriodPicker state={state} fallback={fallback} change={change} />
      </div>
      <Answered of={totals}>
        {(report) =>
          report.totals.own.responses === 0 ? (
            <NothingUsed
              isAll={period.from === undefined}
              showAll={() => change({ period: 'all', from: undefined, to: undefined })}
            />
          ) : (
            <>
              <Totals report={report} time={time} earlier={before === undefined ? undefined : earlier.data} />
              <Caveats caveats={report.caveats} time={time} />
              <section className="panel" aria-labelledby="over-time">
                <div className="between">
                  <h2 id="over-time">{metric === 'cost' ? 'Cost' : 'Tokens'} over time</h2>
                  <div className="row">
                    <Choice
                      label="Show"
                      value={metric}
                      options={METRICS}
                      change={(value) => change({ metric: value })}
                    />
                    <Choice label="by" value={by} options={DIMENSIONS} change={(value) => change({ by: value })} />
                    <Choice label="in" value={step} options={steps} change={(value) => change({ step: value })} />
                  </div>
                </div>
                <UsageChart
                  // A legend of another dimension's names would be shown until the answer arrives.
                  key={by}
                  totals={report}
                  query={query}
                  time={time}
                  step={step}
                  by={by}
                  metric={metric}
                  zoom={(from, to) => change({ from, to, period: undefined, step: undefined })}
                />
              </section>
              <Tops query={query} time={time} />
            </>
          )
        }
      </Answered>
      <div className="two">
        <HeatMap metric={metric} />
        <Health />
      </div>
    </div>
  );
}

function NothingUsed({ isAll, showAll }: { isAll: boolean; showAll: () => void }): ReactNode {
  if (!isAll) {
    return (
      <Empty title="No activity in this period">
        <button type="button" onClick={showAll}>
          Show all time
        </button>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing here yet">
      <p>
        <code>recount backfill</code> finds the sessions of this machine’s agents, and uploads them once you agree.
      </p>
    </Empty>
  );
}

interface TotalsProps {
  report: UsageReport;
  /** In the sessions page's parameters. */
  time: Record<string, string>;
  earlier: UsageReport | undefined;
}

/** Each one links to its sessions, highest first. */
function Totals({ report, time, earlier }: TotalsProps): ReactNode {
  const { own, sessions } = report.totals;
  const before = earlier?.totals;
  return (
    <dl className="totals">
      <Total
        label="Cost"
        search={{ ...time, sort: 'cost_estimate_usd' }}
        now={own.cost_usd}
        before={before?.own.cost_usd}
      >
        <Money value={own.cost_usd} />
      </Total>
      <Total
        label="Tokens"
        search={{ ...time, sort: 'cost_estimate_usd' }}
        now={own.total_tokens}
        before={before?.own.total_tokens}
      >
        <Tokens value={own.total_tokens} />
      </Total>
      <Total
        label="Output"
        search={{ ...time, sort: 'tokens_out' }}
        now={own.tokens_out}
        before={before?.own.tokens_out}
      >
        <Tokens value={own.tokens_out} />
      </Total>
      <Total
        label="API responses"
        search={{ ...time, sort: 'total_messages' }}
        now={own.responses}
        before={before?.own.responses}
      >
        <Count value={own.responses} />
      </Total>
      <Total label="Sessions" hint={SESSIONS_OF_USAGE} search={time} now={sessions} before={before?.sessions}>
        <Count value={sessions} />
      </Total>
      <Total label="Cache hit rate" search={time} now={null} before={null}>
        <Percent value={own.cache_hit_ratio} />
      </Total>
    </dl>
  );
}

/** Includes the change since the previous period. */
function Total({
  label,
  hint,
  search,
  now,
  before,
  children,
}: {
  label: string;
  hint?: string;
  search: Record<string, string>;
  now: number | null;
  before: number | null | undefined;
  children: ReactNode;
}): ReactNode {
  const change = formatChange(now, before);
  return (
    <div>
      <dt title={hint}>{label}</dt>
      <dd>
        <Link to="/sessions" search={{ ...search, subagents: 'include' } as never} title="The sessions behind it">
          {children}
        </Link>
      </dd>
      {change !== undefined && <p className="muted">{change} the period before</p>}
    </div>
  );
}
