import './overview.css';
import type { UsageReport } from '@recount/contract';
import { countDays } from '@recount/contract/periods';
import { SESSIONS_OF_USAGE } from '@recount/contract/reports/page-figures';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useRef } from 'react';
import { DIMENSIONS as DIMENSIONS_OF_ALL, readFilters } from '../../format/dimensions.ts';
import { type Period, readPeriodBefore } from '../../format/period.ts';
import { formatChange, formatCompact, formatCount, formatMoney, TIME_ZONE } from '../../format/values.ts';
import { ExploreDemo } from '../../parts/demo.tsx';
import { TrustLine } from '../../parts/trust-line.tsx';
import { useView, type View } from '../../parts/use-view.ts';
import { MeantNames, ViewBar } from '../../parts/view-bar.tsx';
import { useAnswer } from '../../server-data/use-answer.ts';
import { STEPS, type Step, toDefaultStep } from '../../ui/chart/step.ts';
import { Choice } from '../../ui/choice.tsx';
import { Count, Money, Percent, Tokens } from '../../ui/figures.tsx';
import { Answered, Empty, Pending } from '../../ui/states.tsx';
import { Budgets } from './budgets.tsx';
import { DIMENSIONS, type Dimension, METRICS } from './choices.ts';
import { HeatMap } from './heat-map.tsx';
import { MOVER_BREAKDOWNS, Movers } from './movers.tsx';
import { Running, Stuck } from './now.tsx';
import { OnTrack } from './on-track.tsx';
import { listShareBreakdowns, Shares } from './shares.tsx';
import { TopSessions } from './top-sessions.tsx';
import { listChartBreakdowns, UsageChart } from './usage-chart.tsx';

/** Most workspaces have none. */
const Plans = lazy(async () => ({ default: (await import('../../parts/plans.tsx')).Plans }));

/** For longer periods, hours would be too narrow to see. */
const MAX_HOUR_DAYS = 14;
const MAX_ROWS = 10_000;

const toDays = ({ from, to }: Period): number =>
  from === undefined || to === undefined ? Number.POSITIVE_INFINITY : countDays({ from, to });

/** The use of money and tokens, and the state of the installation. */
export function OverviewPage(): ReactNode {
  const view = useView();
  const { state, change, query, time } = view;
  const days = toDays(query);
  const steps = STEPS.filter(([id]) => id !== 'hour' || days <= MAX_HOUR_DAYS);
  const step = steps.find(([id]) => id === state.step)?.[0] ?? toDefaultStep(days);
  const by = DIMENSIONS.find(([id]) => id === state.by)?.[0] ?? 'model';
  const metric = METRICS.find(([id]) => id === state.metric)?.[0] ?? 'cost';
  const filters = readFilters(state);
  const { totals, changes, before, compared, isComparing } = useReports(view, step, by);
  return (
    <div className="overview in-order">
      <h1>Overview</h1>
      <ViewBar {...view} />
      <Stuck />
      <OnTrack filters={filters} />
      <Budgets />
      <Suspense fallback={<Pending />}>
        <Plans filters={filters} />
      </Suspense>
      <Answered of={totals}>
        {(report) =>
          report.totals.own.responses === 0 ? (
            <NothingUsed
              isAll={query.from === undefined}
              filters={report.filters}
              showAll={() => change({ period: 'all', from: undefined, to: undefined })}
            />
          ) : (
            <>
              <Totals report={report} time={time} before={compared} isComparing={isComparing} />
              <MeantNames filters={report.filters} />
              <TrustLine caveats={report.caveats} cost={report.totals.own.cost_usd} query={query} time={time} />
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
                  report={report}
                  period={query}
                  time={time}
                  step={step}
                  by={by}
                  metric={metric}
                  // Hours without use have no bar, so the hours of two periods would not be beside each other.
                  before={step === 'hour' ? undefined : compared}
                  zoom={(from, to) => change({ from, to, period: undefined, step: undefined })}
                />
              </section>
              <div className={before === undefined ? undefined : 'two'}>
                {before !== undefined && <Movers of={changes} before={before.label} time={time} />}
                <TopSessions query={query} time={time} />
              </div>
              <Shares
                report={report}
                changes={before && changes.data}
                before={before?.label}
                period={query}
                step={step}
                time={time}
              />
            </>
          )
        }
      </Answered>
      <div className="two">
        <HeatMap metric={metric} filters={filters} />
        <Running />
      </div>
    </div>
  );
}

/** The reports of the period, and of the one before if it has one. */
function useReports({ state, query, fallback, isKnown }: View, step: Step, by: Dimension) {
  const before = readPeriodBefore(state, fallback);
  const totals = useAnswer(
    '/v1/analytics/usage',
    {
      ...query,
      group_by: step,
      breakdown: [...listChartBreakdowns(step, by), ...listShareBreakdowns(step)],
      limit: MAX_ROWS,
    },
    { isEnabled: isKnown },
  );
  const earlier = useAnswer(
    '/v1/analytics/usage',
    { ...before?.period, time_zone: TIME_ZONE, ...readFilters(state), group_by: step, limit: MAX_ROWS },
    { isEnabled: isKnown && before !== undefined },
  );
  const changes = useAnswer(
    '/v1/analytics/changes',
    {
      ...query,
      previous_from: before?.period.from,
      previous_to: before?.period.to,
      group_by: 'repository',
      breakdown: MOVER_BREAKDOWNS,
      limit: MAX_ROWS,
    },
    { isEnabled: isKnown && before !== undefined },
  );
  const compared = before && earlier.data && { report: earlier.data, ...before };
  // Later, for another period, everything stays in sight.
  const wasShown = useRef(false);
  const isComparing = earlier.isLoading && !wasShown.current;
  if (totals.data !== undefined && !isComparing) wasShown.current = true;
  return { totals, changes, before, compared, isComparing };
}

function NothingUsed({
  isAll,
  filters,
  showAll,
}: {
  isAll: boolean;
  filters: UsageReport['filters'];
  showAll: () => void;
}): ReactNode {
  const whoami = useAnswer('/v1/whoami', {});
  const isFiltered = DIMENSIONS_OF_ALL.some(({ name }) => filters[name as 'model'] !== null);
  if (!isAll || isFiltered) {
    return (
      <Empty title="No activity in this period">
        <MeantNames filters={filters} />
        {!isAll && (
          <button type="button" onClick={showAll}>
            Show all time
          </button>
        )}
      </Empty>
    );
  }
  return (
    <Empty title="Nothing here yet">
      <p>
        <code>recount backfill</code> finds the sessions of this machine’s agents, and uploads them once you agree.
      </p>
      {whoami.data?.scopes.includes('operator') && <ExploreDemo />}
    </Empty>
  );
}

interface TotalsProps {
  report: UsageReport;
  /** In the sessions page's parameters. */
  time: Record<string, string>;
  /** The period before, and its name. */
  before: { report: UsageReport; label: string } | undefined;
  /** True until that is known. */
  isComparing: boolean;
}

/** In the order of the other pages. Each one links to its sessions, highest first. */
function Totals({ report, time, before: earlier, isComparing }: TotalsProps): ReactNode {
  const { own, sessions } = report.totals;
  const before = earlier?.report.totals;
  const change = (now: number | null, then: number | null | undefined, format: (value: number) => string) =>
    earlier === undefined ? undefined : formatChange(now, then, { format, before: earlier.label });
  return (
    <dl className="totals">
      <Total
        label="Cost"
        search={{ ...time, sort: 'cost_estimate_usd' }}
        change={change(own.cost_usd, before?.own.cost_usd, formatMoney)}
      >
        <Money value={own.cost_usd} />
      </Total>
      <Total
        label="Sessions"
        hint={SESSIONS_OF_USAGE}
        search={time}
        change={change(sessions, before?.sessions, formatCount)}
      >
        <Count value={sessions} />
      </Total>
      <Total
        label="Responses"
        search={{ ...time, sort: 'total_messages' }}
        change={change(own.responses, before?.own.responses, formatCount)}
      >
        <Count value={own.responses} />
      </Total>
      <Total
        label="Tokens"
        search={{ ...time, sort: 'cost_estimate_usd' }}
        change={change(own.total_tokens, before?.own.total_tokens, formatCompact)}
      >
        <Tokens value={own.total_tokens} />
      </Total>
      <Total
        label="Output"
        search={{ ...time, sort: 'tokens_out' }}
        change={change(own.tokens_out, before?.own.tokens_out, formatCompact)}
      >
        <Tokens value={own.tokens_out} />
      </Total>
      <Total label="Cache hit rate" search={time}>
        <Percent value={own.cache_hit_ratio} />
      </Total>
      {isComparing && <Pending />}
    </dl>
  );
}

/** Includes the change since the previous period. */
function Total({
  label,
  hint,
  search,
  change,
  children,
}: {
  label: string;
  hint?: string;
  search: Record<string, string>;
  change?: string | undefined;
  children: ReactNode;
}): ReactNode {
  return (
    <div>
      <dt title={hint}>{label}</dt>
      <dd>
        <Link to="/sessions" search={{ ...search, subagents: 'include' } as never} title="The sessions behind it">
          {children}
        </Link>
      </dd>
      {change !== undefined && <p className="muted">{change}</p>}
    </div>
  );
}
