import './on-track.css';
import type { ForecastReport } from '@recount/contract';
import { FORECAST_DAYS } from '@recount/contract/choices';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatChange, formatCounted, formatMoney, formatMonth, TIME_ZONE } from '../../format/values.ts';
import type { ViewQuery } from '../../parts/use-view.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Money, Percent } from '../../ui/figures.tsx';
import { Answered } from '../../ui/states.tsx';

type Row = ForecastReport['rows'][number];
type Period = Row['period'];

/** Answers whether this month's spending is on track, for the filters, whatever the time of the page is. */
export function OnTrack({ filters }: { filters: Partial<ViewQuery> }): ReactNode {
  const month = useAnswer('/v1/analytics/forecast', { time_zone: TIME_ZONE, ...filters });
  return (
    <section className="panel on-track" aria-labelledby="on-track">
      <Answered of={month}>
        {({ rows, totals }) => {
          const of = (period: Period): Row | undefined => rows.find((row) => row.period === period);
          const [toDate, before, last] = [of('month-to-date'), of('same-days-last-month'), of('last-month')];
          const [today, forecast] = [of('today'), of('forecast')];
          return (
            <>
              <div className="between">
                <h2 id="on-track">{formatMonth(totals.month)}</h2>
                <span className="muted">{daysLeft(totals.days_left)}</span>
              </div>
              <dl className="track-figures">
                <Figure
                  label="Month to date"
                  search={{ period: 'this-month' }}
                  note={formatChange(toDate?.cost_usd ?? null, before?.cost_usd, {
                    format: formatMoney,
                    before: `${formatMoney(before?.cost_usd ?? null)} in the same days of last month`,
                  })}
                >
                  <Money value={toDate?.cost_usd ?? null} />
                </Figure>
                <ForecastFigure forecast={forecast} historyDays={totals.history_days} />
                <Figure label="Last month" search={{ period: 'last-month' }}>
                  <Money value={last?.cost_usd ?? null} />
                </Figure>
                <Figure label="Today" search={{ period: 'today' }}>
                  <Money value={today?.cost_usd ?? null} />
                </Figure>
                {toDate !== undefined && <Waste month={toDate} filters={filters} />}
              </dl>
              {toDate?.cost_usd != null && forecast?.cost_usd != null && (
                <Progress spent={toDate.cost_usd} forecast={forecast} last={last?.cost_usd ?? null} />
              )}
            </>
          );
        }}
      </Answered>
    </section>
  );
}

const daysLeft = (days: number): string =>
  days === 0 ? 'Last day of the month' : `${formatCounted(days, 'day')} left`;

function Figure({
  label,
  note,
  search,
  to = '/sessions',
  children,
}: {
  label: string;
  note?: ReactNode;
  search?: Record<string, string>;
  to?: string;
  children: ReactNode;
}): ReactNode {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {search === undefined ? (
          children
        ) : (
          <Link to={to} search={{ ...search, ...(to === '/sessions' && { subagents: 'include' }) } as never}>
            {children}
          </Link>
        )}
      </dd>
      {note !== undefined && <dd className="muted track-note">{note}</dd>}
    </div>
  );
}

function ForecastFigure({ forecast, historyDays }: { forecast: Row | undefined; historyDays: number }): ReactNode {
  const hint =
    'What was spent, and for each day left the mean of the last 28 days of its kind (Monday to Friday, or weekend). Of made months, about four of five ended within the range; see docs/dashboard.md.';
  if (forecast?.cost_usd == null) {
    return (
      <div>
        <dt title={hint}>Forecast</dt>
        <dd className="none">–</dd>
        <dd className="muted track-note">
          {historyDays < FORECAST_DAYS.least
            ? `needs ${FORECAST_DAYS.least} of ${FORECAST_DAYS.most} days, has ${historyDays}`
            : 'no response of this month has a price'}
        </dd>
      </div>
    );
  }
  return (
    <div>
      <dt title={hint}>Forecast</dt>
      <dd>
        <Money value={forecast.cost_usd} />
      </dd>
      <dd className="muted track-note" title={hint}>
        {forecast.low_usd !== forecast.high_usd && (
          <>
            likely <Money value={forecast.low_usd} /> to <Money value={forecast.high_usd} />
          </>
        )}
      </dd>
    </div>
  );
}

function Waste({ month, filters }: { month: Row; filters: Partial<ViewQuery> }): ReactNode {
  const { from, to } = month;
  const waste = useAnswer('/v1/analytics/waste', { from, to, time_zone: TIME_ZONE, group_by: '', ...filters });
  const { waste_usd = null, waste_share = null, dismissed_usd = 0 } = waste.data?.totals ?? {};
  if (waste.data === undefined && waste.error !== null) return null;
  return (
    <Figure
      label="Potential waste"
      to="/insights"
      search={{ period: 'this-month' }}
      note={
        waste.data === undefined
          ? '…'
          : waste_share !== null && (
              <>
                <Percent value={waste_share} /> of the month’s cost
                {dismissed_usd > 0 && `, ${formatMoney(dismissed_usd)} dismissed`}
              </>
            )
      }
    >
      {waste.data === undefined ? '…' : <Money value={waste_usd} />}
    </Figure>
  );
}

/** The month as a bar: what was spent, and where it may end, beside the last month. */
function Progress({ spent, forecast, last }: { spent: number; forecast: Row; last: number | null }): ReactNode {
  const { cost_usd, low_usd, high_usd } = forecast;
  const end = Math.max(high_usd ?? 0, last ?? 0, spent) || 1;
  const toPlace = (value: number | null): string => `${((value ?? 0) / end) * 100}%`;
  return (
    <div className="track-bar" aria-hidden="true">
      <div
        className="track-range"
        style={{ left: toPlace(low_usd), width: toPlace((high_usd ?? 0) - (low_usd ?? 0)) }}
      />
      <div className="track-spent" style={{ width: toPlace(spent) }} />
      <div className="track-forecast" style={{ left: toPlace(cost_usd) }} />
      {last !== null && last > 0 && <div className="track-last" style={{ left: toPlace(last) }} title="Last month" />}
    </div>
  );
}
