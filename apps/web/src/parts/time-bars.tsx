import type { PageFigure } from '@recount/contract/reports/report-entry';
import type { ReactNode } from 'react';
import type { Period } from '../format/period.ts';
import { formatCompact, formatCount, formatMoney, formatMoneyTick } from '../format/values.ts';
import { BarChart } from '../ui/chart/bar-chart.tsx';
import { fillTimes, toLastDay } from '../ui/chart/bar-times.ts';
import type { Step } from '../ui/chart/step.ts';
import { type Row, readFigure, readText } from '../ui/report-figure.tsx';
import { type Asked, ExportMenu, toFigureColumns, toTextColumn } from './export-menu.tsx';

export interface TimeBarsProps {
  rows: readonly Row[];
  step: Step;
  figure: PageFigure;
  asked: Asked;
  /** Also the times without data, if it has a beginning. */
  period?: Period;
  /** Gets the first and the last day of a bar that is clicked, or of bars that are dragged over. */
  open: (from: string, to: string) => void;
}

/** A figure of a report by hour, day, week or month. Nothing for fewer than two bars. */
export function TimeBars({ rows, step, figure, asked, period, open }: TimeBarsProps): ReactNode {
  const byTime = new Map(
    rows.flatMap((row) => {
      const time = readText(row, step);
      return time === null ? [] : [[time, readFigure(row, figure)] as const];
    }),
  );
  const times = fillTimes([...byTime.keys()], step, period);
  if (times.length < 2) return null;
  const { kind, label } = figure;
  const isMoney = kind === 'money' || kind === 'amount';
  const openDays = (first: number, last: number): void =>
    open((times[first] ?? '').slice(0, 10).padEnd(10, '-01'), toLastDay(times[last] ?? '', step));
  return (
    <figure className="trend">
      <figcaption className="between muted">
        {label} by {step}
        <ExportMenu
          title={`${label} by ${step}`}
          columns={[toTextColumn(step, step), ...toFigureColumns([figure])]}
          rows={rows}
          isOfFigure
          {...asked}
        />
      </figcaption>
      <BarChart
        label={label}
        times={times}
        step={step}
        series={[{ color: '1', label, values: times.map((time) => byTime.get(time) ?? null) }]}
        totals={times.map((time) => byTime.get(time))}
        formatValue={isMoney ? formatMoney : formatCount}
        formatTick={isMoney ? formatMoneyTick : formatCompact}
        open={(index) => openDays(index, index)}
        zoom={openDays}
      />
    </figure>
  );
}
