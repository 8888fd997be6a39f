import './chart.css';
import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { toTickLabel, toTimeLabel, toTimeTicks, toValueTicks } from './chart-scale.ts';
import type { Step } from './step.ts';

const WIDTH = 1000;
const HEIGHT = 220;
/** Room for a date on the axis. */
const TICK_PX = 76;
/** With less room than this beside its bar, a date would leave the chart's panel. */
const MARGIN_PX = 14;
const TOOLTIP_PX = 230;

/** A part of the bars: one value for each time, in the order of the chart's times. */
export interface Series {
  /** Ends the name of its colour's class. */
  color: string;
  label: string;
  values: readonly (number | null)[];
}

interface BarChartProps {
  /** Name of the figure, for the description: `Cost`. */
  label: string;
  times: readonly string[];
  step: Step;
  /** Stacked from the bottom. */
  series: readonly Series[];
  /** The figure of the whole bar; null if it is unknown, undefined if there is none. */
  totals: readonly (number | null | undefined)[];
  /** An earlier period's totals, the first one beside the first bar, drawn as a line. */
  before?: { label: string; totals: readonly (number | null | undefined)[] } | undefined;
  formatValue: (value: number | null) => string;
  /** For the axis, where all values have the decimals of the step. */
  formatTick: (value: number, step: number) => string;
  /** Shows only the bars from one index to another. */
  zoom?: (first: number, last: number) => void;
  /** Opens a bar that is clicked, or chosen by keys. */
  open?: (index: number) => void;
}

/**
 * Stacked bars over time. A tooltip follows the pointer, or the arrow keys while the chart has the focus; Enter and a
 * click open the bar, and dragging zooms.
 */
export function BarChart(props: BarChartProps): ReactNode {
  const { label, times, step, totals, before, formatTick, open } = props;
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [chosen, setChosen] = useState<number>();
  const known = (values: readonly (number | null | undefined)[]): number[] => values.map((value) => value ?? 0);
  const ticks = toValueTicks(Math.max(0, ...known(totals), ...known(before?.totals.slice(0, times.length) ?? [])));
  const end = ticks.at(-1) ?? 1;
  const move = (to: number): void => setChosen(Math.max(0, Math.min(times.length - 1, to)));
  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => move((chosen ?? times.length) - 1),
    ArrowRight: () => move((chosen ?? -1) + 1),
    Home: () => move(0),
    End: () => move(times.length - 1),
    Escape: () => setChosen(undefined),
    Enter: () => chosen !== undefined && open?.(chosen),
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  const [first = '', last = ''] = [times[0], times.at(-1)];
  return (
    <div
      className="bar-chart"
      tabIndex={0}
      role="group"
      aria-label={`${label} by ${step}, from ${toTimeLabel(first, step)} to ${toTimeLabel(last, step)}. Arrow keys read the bars.`}
      onKeyDown={onKeyDown}
      onBlur={() => setChosen(undefined)}
    >
      <div className="chart-values muted" aria-hidden="true">
        {ticks.map((value) => (
          <span key={value} style={{ bottom: `${(value / end) * 100}%` }}>
            {formatTick(value, ticks[1] ?? 1)}
          </span>
        ))}
      </div>
      <div className="chart-plot" ref={frame}>
        <Plot {...props} ticks={ticks} chosen={chosen} choose={setChosen} />
        {chosen !== undefined && (
          <div className="chart-tooltip" role="status" style={{ left: toTooltipLeft(chosen, times.length, width) }}>
            <Tooltip {...props} index={chosen} />
          </div>
        )}
      </div>
      <Dates times={times} step={step} width={width} />
    </div>
  );
}

function Dates({ times, step, width }: Pick<BarChartProps, 'times' | 'step'> & { width: number }): ReactNode {
  const [first = '', last = ''] = [times[0], times.at(-1)];
  const isOfYears = Number(last.slice(0, 4)) - Number(first.slice(0, 4)) > 1;
  return (
    <div className="chart-dates muted" aria-hidden="true">
      {toTimeTicks(times, step, width / TICK_PX)
        .map((index) => ({ index, place: (index + 0.5) / times.length }))
        .filter(({ place }) => Math.min(place, 1 - place) * width >= MARGIN_PX)
        .map(({ index, place }) => (
          <span key={index} style={{ left: `${place * 100}%` }}>
            {toTickLabel(times[index] ?? '', step, isOfYears)}
          </span>
        ))}
    </div>
  );
}

interface PlotProps extends BarChartProps {
  ticks: readonly number[];
  chosen: number | undefined;
  choose: (index: number | undefined) => void;
}

/** The bars, and what the pointer does to them. */
function Plot({ times, series, before, zoom, open, ticks, chosen, choose }: PlotProps): ReactNode {
  const [drag, setDrag] = useState<[number, number]>();
  const end = ticks.at(-1) ?? 1;
  const slot = WIDTH / Math.max(1, times.length);
  const toY = (value: number): number => HEIGHT - (value / end) * HEIGHT;
  const toPoints = (values: readonly (number | null | undefined)[]): string =>
    values
      .slice(0, times.length)
      .map((value, index) => `${(index + 0.5) * slot},${toY(value ?? 0)}`)
      .join(' ');
  const toIndex = ({ clientX, currentTarget }: PointerEvent): number => {
    const box = currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(times.length - 1, Math.floor(((clientX - box.left) / box.width) * times.length)));
  };
  const onPointerUp = (event: PointerEvent): void => {
    if (drag !== undefined && drag[0] !== drag[1]) zoom?.(Math.min(...drag), Math.max(...drag));
    // A finger has no other way to see the tooltip than this.
    else if (drag !== undefined && event.pointerType === 'mouse') open?.(drag[0]);
    setDrag(undefined);
  };
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      onPointerDown={(event) => setDrag([toIndex(event), toIndex(event)])}
      onPointerMove={(event) => {
        choose(toIndex(event));
        if (drag !== undefined) setDrag([drag[0], toIndex(event)]);
      }}
      onPointerUp={onPointerUp}
      onPointerLeave={() => {
        setDrag(undefined);
        choose(undefined);
      }}
    >
      {ticks.slice(1).map((value) => (
        <line key={value} className="grid-line" x1={0} x2={WIDTH} y1={toY(value)} y2={toY(value)} />
      ))}
      {times.map((time, index) => (
        <g key={time} className={index === chosen ? 'bar chosen' : 'bar'}>
          <rect className="bar-slot" x={index * slot} y={0} width={slot} height={HEIGHT} />
          {stack(series, index).map(({ color, from, to }) => (
            <rect
              key={color}
              className={`series-${color}`}
              x={index * slot + slot * 0.1}
              width={slot * 0.8}
              y={toY(to)}
              height={((to - from) / end) * HEIGHT}
            />
          ))}
        </g>
      ))}
      {before !== undefined && <polyline className="before-line" points={toPoints(before.totals)} />}
      {drag !== undefined && drag[0] !== drag[1] && <Brush drag={drag} slot={slot} />}
    </svg>
  );
}

function Brush({ drag, slot }: { drag: readonly [number, number]; slot: number }): ReactNode {
  const width = (Math.abs(drag[1] - drag[0]) + 1) * slot;
  return <rect className="brush" x={Math.min(...drag) * slot} y={0} width={width} height={HEIGHT} />;
}

function Tooltip({
  times,
  step,
  series,
  totals,
  before,
  index,
  formatValue,
}: Pick<BarChartProps, 'times' | 'step' | 'series' | 'totals' | 'before' | 'formatValue'> & {
  index: number;
}): ReactNode {
  const parts = series.filter(({ values }) => values[index] != null && values[index] !== 0).toReversed();
  const [total, earlier] = [totals[index], before?.totals[index]];
  return (
    <>
      <strong>{toTimeLabel(times[index] ?? '', step)}</strong>
      <dl>
        <div>
          <dt>Total</dt>
          <dd>{total === undefined ? 'nothing' : formatValue(total)}</dd>
        </div>
        {before !== undefined && index < before.totals.length && (
          <div className="muted">
            <dt>{before.label}</dt>
            <dd>{earlier === undefined ? 'nothing' : formatValue(earlier)}</dd>
          </div>
        )}
        {parts.map(({ color, label, values }) => (
          <div key={color}>
            <dt>
              <span className={`swatch series-${color}`} aria-hidden="true" />
              {label}
            </dt>
            <dd data-value={values[index]}>{formatValue(values[index] ?? null)}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** Beside the bar, on the side with more room, in pixels. */
function toTooltipLeft(index: number, count: number, width: number): number {
  const [start, end] = [(index / count) * width, ((index + 1) / count) * width];
  const left = end + TOOLTIP_PX + 8 <= width ? end + 8 : start - TOOLTIP_PX - 8;
  return Math.max(0, Math.min(width - TOOLTIP_PX, left));
}

/** Start and end of each part of a bar. */
function stack(series: readonly Series[], index: number): { color: string; from: number; to: number }[] {
  let end = 0;
  return series.flatMap(({ color, values }) => {
    const value = values[index] ?? 0;
    if (value === 0) return [];
    const from = end;
    end += value;
    return [{ color, from, to: end }];
  });
}

/** The width of an element in pixels, also after it has changed. */
function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
