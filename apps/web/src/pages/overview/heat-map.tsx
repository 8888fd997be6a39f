import type { UsageReport } from '@recount/contract';
import { addDays } from '@recount/contract/periods';
import { useNavigate } from '@tanstack/react-router';
import type { MouseEvent, ReactNode } from 'react';
import { toToday } from '../../format/period.ts';
import { formatCompact, formatMoney, TIME_ZONE } from '../../format/values.ts';
import { ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import type { ViewQuery } from '../../parts/use-view.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Answered } from '../../ui/states.tsx';
import type { Metric } from './choices.ts';

const WEEKS = 53;
const LEVELS = 4;
const FILE_COLUMNS = [
  toTextColumn('day', 'day'),
  ...toFigureColumns([
    { kind: 'count', label: 'Sessions', path: 'sessions' },
    { kind: 'tokens', label: 'Tokens', path: 'own.total_tokens' },
    { kind: 'money', label: 'Cost', path: 'own.cost_usd' },
  ]),
];
const monthName = new Intl.DateTimeFormat(undefined, { month: 'short', timeZone: 'UTC' });

/**
 * A year of days, one column for each week; darker is more. Clicking a day opens its sessions, as the session filters
 * do.
 */
export function HeatMap({ metric, filters }: { metric: Metric; filters: Partial<ViewQuery> }): ReactNode {
  const today = toToday();
  const weekday = (new Date(`${today}T00:00:00Z`).getUTCDay() + 6) % 7;
  const start = addDays(today, -weekday - (WEEKS - 1) * 7);
  const time = { from: start, to: today };
  const title = metric === 'cost' ? 'Cost by day' : 'Tokens by day';
  const report = useAnswer('/v1/analytics/usage', {
    from: start,
    to: addDays(today, 1),
    time_zone: TIME_ZONE,
    group_by: 'day',
    limit: 1000,
    ...filters,
  });
  return (
    <section className="panel">
      <h2>{title}, the last 12 months</h2>
      <Answered of={report}>
        {({ rows, filters: asked }) => (
          <figure>
            <div
              className="scroll-x heat-scroll"
              tabIndex={0}
              role="img"
              aria-label={`Days of the last 12 months: ${rows.length} with use`}
            >
              <Days rows={rows} metric={metric} start={start} today={today} />
            </div>
            <figcaption className="heat-legend muted">
              <span>Weeks from Monday.</span>
              <span>Less</span>
              {Array.from({ length: LEVELS + 1 }, (_, level) => (
                <span key={level} className={`heat-key heat-${level}`} aria-hidden="true" />
              ))}
              <span>More</span>
              <ExportMenu
                title={`${title}, the last 12 months`}
                columns={FILE_COLUMNS}
                rows={rows}
                filters={asked}
                time={time}
                isOfFigure
              />
            </figcaption>
          </figure>
        )}
      </Answered>
    </section>
  );
}

interface DaysProps {
  rows: UsageReport['rows'];
  metric: Metric;
  start: string;
  today: string;
}

function Days({ rows, metric, start, today }: DaysProps): ReactNode {
  const navigate = useNavigate();
  const openDay = ({ target }: MouseEvent): void => {
    const { date } = (target as HTMLElement).dataset;
    if (date !== undefined)
      void navigate({ to: '/sessions', search: { from: date, to: date, subagents: 'include' } } as never);
  };
  const byDay = new Map(rows.map((row) => [row.day ?? '', row]));
  const toValue = (day: string): number => {
    const own = byDay.get(day)?.own;
    return (metric === 'cost' ? own?.cost_usd : own?.total_tokens) ?? 0;
  };
  // Levels by rank: otherwise one very expensive day would make all others pale.
  const ranked = rows
    .map(({ day }) => toValue(day ?? ''))
    .filter((value) => value > 0)
    .sort((a, b) => a - b);
  const toLevel = (value: number): number =>
    value <= 0
      ? 0
      : 1 + Math.min(LEVELS - 1, Math.floor((ranked.filter((other) => other < value).length / ranked.length) * LEVELS));
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: a shortcut; the filters of the sessions do the same
    <div className="heat-map" onClick={openDay}>
      {Array.from({ length: WEEKS }, (_, week) => (
        <div key={week} className="heat-week">
          <span className="muted heat-month">{toMonthLabel(addDays(start, week * 7))}</span>
          {Array.from({ length: 7 }, (_day, day) => {
            const date = addDays(start, week * 7 + day);
            if (date > today) return <span key={date} />;
            const row = byDay.get(date);
            const text =
              metric === 'cost' ? formatMoney(row?.own.cost_usd ?? 0) : `${formatCompact(toValue(date))} tokens`;
            const title = row === undefined ? `${date}: nothing` : `${date}: ${text}, ${row.sessions} sessions`;
            const level = row === undefined ? 0 : toLevel(toValue(date)) || 1;
            return <span key={date} className={`heat-day heat-${level}`} title={title} data-date={date} />;
          })}
        </div>
      ))}
    </div>
  );
}

/** The month's label above the week where it begins. */
function toMonthLabel(monday: string): string {
  return Number(monday.slice(8)) <= 7 ? monthName.format(new Date(`${monday}T00:00:00Z`)) : '';
}
