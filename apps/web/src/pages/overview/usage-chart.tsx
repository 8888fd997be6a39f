import type { UsageReport } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { SESSIONS_OF_USAGE } from '@recount/contract/reports/page-figures';
import { Link } from '@tanstack/react-router';
import { type PointerEvent, type ReactNode, useMemo, useState } from 'react';
import { formatCompact, formatMoney, toShortModel, toShortPath } from '../../format/values.ts';
import type { Query } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Money, Tokens } from '../../ui/figures.tsx';
import { Failure } from '../../ui/states.tsx';
import { fillTimes, toLastDay } from './bar-times.ts';
import type { Dimension, Metric, Step } from './choices.ts';

type Row = UsageReport['rows'][number];

const MAX_SERIES = 8;
const MAX_ROWS = 10_000;
const WIDTH = 1000;
const HEIGHT = 220;
const GRID_LINES = 4;
const REST = '\0rest';

interface ChartProps {
  /** By time only. */
  totals: UsageReport;
  query: Query<'/v1/analytics/usage'>;
  /** The same time in the sessions page's parameters. */
  time: Record<string, string>;
  step: Step;
  by: Dimension;
  metric: Metric;
  zoom: (from: string, to: string) => void;
}

const toValue = ({ own }: Pick<Row, 'own'>, metric: Metric): number | null =>
  metric === 'cost' ? own.cost_usd : own.total_tokens;
const toName = (row: Row, by: Dimension): string => row[by] ?? '';
const toLabel = (name: string, by: Dimension): string => {
  if (name === REST) return 'Other';
  if (name === '') return `no ${by}`;
  return by === 'model' ? toShortModel(name) : by === 'project' ? toShortPath(name) : toVisible(name);
};
const formatValue = (value: number | null, metric: Metric): string =>
  metric === 'cost' ? formatMoney(value) : formatCompact(value);

/**
 * Stacked bars. Every bar's total and every part are figures of the API. Drag over bars to zoom in; click one to see
 * its figures.
 */
export function UsageChart({ totals, query, time, step, by, metric, zoom }: ChartProps): ReactNode {
  const parts = useAnswer('/v1/analytics/usage', { ...query, group_by: `${step},${by}`, limit: MAX_ROWS });
  const series = useAnswer('/v1/analytics/usage', { ...query, group_by: by, limit: MAX_ROWS });
  const [chosen, setChosen] = useState<number>();
  const [drag, setDrag] = useState<[number, number]>();
  const times = useMemo(
    () =>
      fillTimes(
        totals.rows.flatMap((row) => row[step] ?? []),
        step,
      ),
    [totals, step],
  );
  const names = useMemo(() => {
    const ranked = [...(series.data?.rows ?? [])].sort((a, b) => (toValue(b, metric) ?? 0) - (toValue(a, metric) ?? 0));
    return ranked.slice(0, MAX_SERIES).map((row) => toName(row, by));
  }, [series.data, metric, by]);
  if (parts.error !== null) return <Failure error={parts.error} retry={() => void parts.refetch()} />;
  const totalByTime = new Map(totals.rows.map((row) => [row[step] ?? '', row]));
  const partsByTime = Map.groupBy(parts.data?.rows ?? [], (row) => row[step] ?? '');
  const max = toScaleEnd(
    Math.max(0, ...totals.rows.map((row) => (row[step] === null ? 0 : (toValue(row, metric) ?? 0)))),
  );
  const slot = WIDTH / Math.max(1, times.length);
  const shown = chosen === undefined ? undefined : times[chosen];

  const toIndex = ({ clientX, currentTarget }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(times.length - 1, Math.floor(((clientX - left) / width) * times.length)));
  };
  const onPointerUp = (): void => {
    if (drag !== undefined && drag[0] !== drag[1]) {
      const [first = '', last = ''] = [times[Math.min(...drag)], times[Math.max(...drag)]];
      zoom(first.slice(0, 10), toLastDay(last, step));
    }
    setDrag(undefined);
  };
  return (
    <figure className="usage-chart">
      <div className="chart-frame">
        <div className="chart-scale muted" aria-hidden="true">
          {Array.from({ length: GRID_LINES + 1 }, (_, index) => (
            <span key={index}>{formatValue((max * (GRID_LINES - index)) / GRID_LINES, metric)}</span>
          ))}
        </div>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${metric === 'cost' ? 'Cost' : 'Tokens'} by ${step}, from ${times[0] ?? ''} to ${times.at(-1) ?? ''}; the table below has the figures`}
          onPointerDown={(event) => setDrag([toIndex(event), toIndex(event)])}
          onPointerMove={(event) => {
            setChosen(toIndex(event));
            if (drag !== undefined) setDrag([drag[0], toIndex(event)]);
          }}
          onPointerUp={onPointerUp}
          onPointerLeave={() => setDrag(undefined)}
        >
          {Array.from({ length: GRID_LINES }, (_, index) => (
            <line
              key={index}
              className="grid-line"
              x1={0}
              x2={WIDTH}
              y1={(HEIGHT * index) / GRID_LINES}
              y2={(HEIGHT * index) / GRID_LINES}
            />
          ))}
          {times.map((time, index) => (
            <g key={time} className={index === chosen ? 'bar chosen' : 'bar'}>
              <rect className="bar-slot" x={index * slot} y={0} width={slot} height={HEIGHT} />
              {stack(partsByTime.get(time) ?? [], names, by, metric).map(({ series: at, from, to }) => (
                <rect
                  key={at}
                  className={`series-${at}`}
                  x={index * slot + slot * 0.1}
                  width={slot * 0.8}
                  y={HEIGHT - (to / max) * HEIGHT}
                  height={Math.max(0, ((to - from) / max) * HEIGHT)}
                />
              ))}
            </g>
          ))}
          {drag !== undefined && drag[0] !== drag[1] && (
            <rect
              className="brush"
              x={Math.min(...drag) * slot}
              y={0}
              width={(Math.abs(drag[1] - drag[0]) + 1) * slot}
              height={HEIGHT}
            />
          )}
        </svg>
        <div className="chart-times muted" aria-hidden="true">
          <span>{times[0]?.slice(0, 16).replace('T', ' ')}</span>
          <span>{times.at(-1)?.slice(0, 16).replace('T', ' ')}</span>
        </div>
      </div>
      <figcaption>
        <Legend
          names={names}
          hasRest={(series.data?.rows.length ?? 0) > names.length}
          rows={shown === undefined ? (series.data?.rows ?? []) : (partsByTime.get(shown) ?? [])}
          by={by}
          metric={metric}
          time={shown === undefined ? time : { from: shown.slice(0, 10).padEnd(10, '-01'), to: toLastDay(shown, step) }}
        />
        <p className="muted chart-note">
          {shown === undefined ? (
            'Total for the period.'
          ) : (
            <ShownTime time={shown} row={totalByTime.get(shown)} step={step} metric={metric} />
          )}{' '}
          Drag to zoom.
          {parts.data?.truncated === true &&
            ' There are more parts than the report allows, so some are missing from the bars.'}
        </p>
      </figcaption>
    </figure>
  );
}

function ShownTime({
  time,
  row,
  step,
  metric,
}: {
  time: string;
  row: Row | undefined;
  step: Step;
  metric: Metric;
}): ReactNode {
  return (
    <>
      {step === 'week' ? 'Week of ' : ''}
      <strong>{time.slice(0, 16).replace('T', ' ')}</strong>:{' '}
      {row === undefined ? 'nothing' : formatValue(toValue(row, metric), metric)}{' '}
      {row !== undefined && (
        <Link
          to="/sessions"
          title={SESSIONS_OF_USAGE}
          search={
            { from: time.slice(0, 10).padEnd(10, '-01'), to: toLastDay(time, step), subagents: 'include' } as never
          }
        >
          {row.sessions.toLocaleString()} {row.sessions === 1 ? 'session' : 'sessions'}
        </Link>
      )}
      .
    </>
  );
}

function Legend({
  names,
  hasRest,
  rows,
  by,
  metric,
  time,
}: {
  names: string[];
  hasRest: boolean;
  rows: readonly Row[];
  by: Dimension;
  metric: Metric;
  time: Record<string, string>;
}): ReactNode {
  const byName = new Map(rows.map((row) => [toName(row, by), row]));
  return (
    <ul className="legend">
      {names.map((name, index) => {
        const row = byName.get(name);
        const figure = row === undefined ? 0 : toValue(row, metric);
        return (
          <li key={name}>
            <span className={`swatch series-${index + 1}`} aria-hidden="true" />
            <Link
              to="/sessions"
              search={{ ...time, ...(name !== '' && { [by]: name }), subagents: 'include' } as never}
              title={name}
            >
              {toLabel(name, by)}
            </Link>{' '}
            {metric === 'cost' ? <Money value={figure} /> : <Tokens value={figure} />}
          </li>
        );
      })}
      {hasRest && (
        <li>
          <span className="swatch series-rest" aria-hidden="true" /> Other
        </li>
      )}
    </ul>
  );
}

/** The next higher figure that divides evenly by the lines of the scale. */
function toScaleEnd(max: number): number {
  if (max <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(max));
  return ([1, 2, 4, 6, 8].find((times) => times * power >= max) ?? 10) * power;
}

/** Start and end of each part of a bar; parts beyond the largest series are combined. */
function stack(
  rows: readonly Row[],
  names: readonly string[],
  by: Dimension,
  metric: Metric,
): { series: string; from: number; to: number }[] {
  const values = new Map<string, number>();
  for (const row of rows) {
    const index = names.indexOf(toName(row, by));
    const at = index < 0 ? 'rest' : String(index + 1);
    values.set(at, (values.get(at) ?? 0) + (toValue(row, metric) ?? 0));
  }
  let end = 0;
  return [...values]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([series, value]) => {
      const from = end;
      end += value;
      return { series, from, to: end };
    });
}
