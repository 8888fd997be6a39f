import type { UsageReport } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { Period } from '../../format/period.ts';
import { toNoName } from '../../format/plain-name.ts';
import {
  formatCompact,
  formatCounted,
  formatMoney,
  formatMoneyTick,
  toShortModel,
  toShortPath,
} from '../../format/values.ts';
import { ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import { BarChart, type Series } from '../../ui/chart/bar-chart.tsx';
import { fillTimes, toLastDay } from '../../ui/chart/bar-times.ts';
import type { Step } from '../../ui/chart/step.ts';
import { Money, Tokens } from '../../ui/figures.tsx';
import type { Dimension, Metric } from './choices.ts';

type Row = UsageReport['rows'][number];

const MAX_SERIES = 8;
/** The class of the colour of all other series. */
const REST = 'rest';

interface ChartProps {
  /** By time, with the breakdowns of `listChartBreakdowns`. */
  report: UsageReport;
  period: Period;
  /** The same time in the sessions page's parameters. */
  time: Record<string, string>;
  step: Step;
  by: Dimension;
  metric: Metric;
  /** The same report of the period before, and its name. */
  before: { report: UsageReport; period: Period; label: string } | undefined;
  zoom: (from: string, to: string) => void;
}

/** The rows that the chart needs besides those by time. */
export const listChartBreakdowns = (step: Step, by: Dimension): string[] => [`${step},${by}`, by];

const toValue = ({ own }: Pick<Row, 'own'>, metric: Metric): number | null =>
  metric === 'cost' ? own.cost_usd : own.total_tokens;
const toName = (row: Row, by: Dimension): string => row[by] ?? '';
const toLabel = (name: string, by: Dimension): string => {
  if (name === '') return toNoName(by);
  return by === 'model' ? toShortModel(name) : by === 'project' ? toShortPath(name) : toVisible(name);
};
/** Columns of the exported file, which has a row for each part of each bar. */
const FILE_COLUMNS = toFigureColumns([
  { kind: 'money', label: 'Cost', path: 'own.cost_usd' },
  { kind: 'tokens', label: 'Tokens', path: 'own.total_tokens' },
  { kind: 'count', label: 'Responses', path: 'own.responses' },
  { kind: 'count', label: 'Sessions', path: 'sessions' },
]);
const FORMATS = { cost: formatMoney, tokens: formatCompact };

/** Cost or tokens over time. Every bar's total and every part are figures of the API. */
export function UsageChart({ report, period, time, step, by, metric, before, zoom }: ChartProps): ReactNode {
  const navigate = useNavigate();
  // The answer before, which stays until the next one is there, may have other groups.
  const [parts, all] = listChartBreakdowns(step, by).map((keys) =>
    report.breakdowns?.find(({ group_by }) => group_by.join() === keys),
  );
  const times = useMemo(
    () =>
      fillTimes(
        report.rows.flatMap((row) => row[step] ?? []),
        step,
        period,
      ),
    [report, step, period],
  );
  const ranked = useMemo(
    () => [...(all?.rows ?? [])].sort((a, b) => (toValue(b, metric) ?? 0) - (toValue(a, metric) ?? 0)),
    [all, metric],
  );
  const names = ranked.slice(0, MAX_SERIES).map((row) => toName(row, by));
  const byTime = new Map(report.rows.map((row) => [row[step] ?? '', toValue(row, metric)]));
  const open = (index: number): void => {
    const at = times[index] ?? '';
    const search = { from: toFirstDay(at), to: toLastDay(at, step), subagents: 'include' };
    void navigate({ to: '/sessions', search } as never);
  };
  return (
    <figure className="usage-chart">
      {times.length > 0 && (
        <BarChart
          label={metric === 'cost' ? 'Cost' : 'Tokens'}
          times={times}
          step={step}
          series={toSeries(parts?.rows ?? [], { names, times, step, by, metric })}
          totals={times.map((at) => byTime.get(at))}
          before={before && { label: toBeforeLabel(before.label), totals: listBefore(before, step, metric) }}
          formatValue={FORMATS[metric]}
          formatTick={metric === 'cost' ? formatMoneyTick : formatCompact}
          zoom={(first, last) => zoom(toFirstDay(times[first] ?? ''), toLastDay(times[last] ?? '', step))}
          open={open}
        />
      )}
      <figcaption>
        <div className="row chart-export">
          <ExportMenu
            title={`${metric === 'cost' ? 'Cost' : 'Tokens'} by ${step}`}
            columns={[toTextColumn(step, step), toTextColumn(by, by), ...FILE_COLUMNS]}
            rows={parts?.rows ?? []}
            filters={report.filters}
            time={time}
            part={{ kind: 'overview' }}
            isOfFigure
          />
        </div>
        <Legend ranked={ranked} by={by} metric={metric} time={time} />
        <ChartNote before={before?.label} isCut={parts?.truncated === true} />
      </figcaption>
    </figure>
  );
}

const ChartNote = ({ before, isCut }: { before: string | undefined; isCut: boolean }): ReactNode => (
  <p className="muted chart-note">
    {before !== undefined && (
      <>
        <span className="before-key" aria-hidden="true" />
        {toBeforeLabel(before)}.{' '}
      </>
    )}
    Total for the period. Drag to zoom, click a bar for its sessions.
    {isCut && ' There are more parts than the report allows, so some are missing from the bars.'}
  </p>
);

const toFirstDay = (time: string): string => time.slice(0, 10).padEnd(10, '-01');
const toBeforeLabel = (label: string): string => label.charAt(0).toUpperCase() + label.slice(1);

/** The totals of the period before, beside the bars in the same place. */
function listBefore(
  { report, period }: NonNullable<ChartProps['before']>,
  step: Step,
  metric: Metric,
): (number | null | undefined)[] {
  const byTime = new Map(report.rows.map((row) => [row[step] ?? '', toValue(row, metric)]));
  return fillTimes([...byTime.keys()].filter(Boolean), step, period).map((at) => byTime.get(at));
}

interface SeriesOptions {
  names: readonly string[];
  times: readonly string[];
  step: Step;
  by: Dimension;
  metric: Metric;
}

/** A series for each name, and one for all others. */
function toSeries(rows: readonly Row[], { names, times, step, by, metric }: SeriesOptions): Series[] {
  const places = new Map(times.map((time, index) => [time, index]));
  const series: { color: string; label: string; values: (number | null)[] }[] = [
    ...names.map((name, index) => ({ color: String(index + 1), label: toLabel(name, by) })),
    { color: REST, label: 'Other' },
  ].map((each) => ({ ...each, values: times.map(() => null) }));
  for (const row of rows) {
    const place = places.get(row[step] ?? '');
    const name = names.indexOf(toName(row, by));
    const values = series[name < 0 ? names.length : name]?.values;
    const value = toValue(row, metric);
    if (place !== undefined && values !== undefined && value !== null) values[place] = (values[place] ?? 0) + value;
  }
  return series;
}

/** Null if no value is known. */
const sumKnown = (values: readonly (number | null)[]): number | null =>
  values.reduce((sum, value) => (value === null ? sum : (sum ?? 0) + value), null);

function Legend({
  ranked,
  by,
  metric,
  time,
}: {
  ranked: readonly Row[];
  by: Dimension;
  metric: Metric;
  time: Record<string, string>;
}): ReactNode {
  const rest = ranked.slice(MAX_SERIES);
  const toFigure = (value: number | null): ReactNode =>
    metric === 'cost' ? <Money value={value} /> : <Tokens value={value} />;
  return (
    <ul className="legend">
      {ranked.slice(0, MAX_SERIES).map((row, index) => {
        const name = toName(row, by);
        return (
          <li key={name}>
            <span className={`swatch series-${index + 1}`} aria-hidden="true" />
            {name === '' ? (
              toLabel(name, by)
            ) : (
              <Link to="/sessions" search={{ ...time, [by]: name, subagents: 'include' } as never} title={name}>
                {toLabel(name, by)}
              </Link>
            )}{' '}
            {toFigure(toValue(row, metric))}
          </li>
        );
      })}
      {rest.length > 0 && (
        <li>
          <span className="swatch series-rest" aria-hidden="true" /> {formatCounted(rest.length, 'other')}{' '}
          {toFigure(sumKnown(rest.map((row) => toValue(row, metric))))}
        </li>
      )}
    </ul>
  );
}
