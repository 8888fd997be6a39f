import { countDays } from '@recount/contract/periods';
import type { ReactNode } from 'react';
import type { Period } from '../../format/period.ts';
import { formatCount, formatMoney, formatMoneyTick } from '../../format/values.ts';
import { type Asked, ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import type { ViewQuery } from '../../parts/use-view.ts';
import type { Answer } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { BarChart } from '../../ui/chart/bar-chart.tsx';
import { fillTimes } from '../../ui/chart/bar-times.ts';
import { Count, Money, Percent } from '../../ui/figures.tsx';
import { PlainTable } from '../../ui/plain-table.tsx';
import { Answered } from '../../ui/states.tsx';
import { NameLink } from '../overview/name-link.tsx';

type Report = Answer<'/v1/analytics/waste'>;

const MAX_ROWS = 10_000;
const SHOWN_ROWS = 5;
/** Bars of days are readable up to this many. */
const MAX_DAYS = 62;
const DIMENSIONS = [
  ['person', 'People'],
  ['repository', 'Repositories'],
] as const;

const FILE_FIGURES = toFigureColumns([
  { kind: 'money', label: 'Waste', path: 'waste_usd' },
  { kind: 'percent', label: 'Of cost', path: 'waste_share' },
  { kind: 'count', label: 'Findings', path: 'findings' },
]);

const toStep = ({ from, to }: Period): 'day' | 'week' =>
  from !== undefined && to !== undefined && countDays({ from, to }) <= MAX_DAYS ? 'day' : 'week';

/** Potential waste as a share of all cost, its course, and whose it is. */
export function WasteSummary({ filter, time }: { filter: ViewQuery; time: Record<string, string> }): ReactNode {
  const step = toStep(filter);
  const breakdown = DIMENSIONS.map(([dimension]) => dimension);
  const report = useAnswer('/v1/analytics/waste', { ...filter, group_by: step, breakdown, limit: MAX_ROWS });
  return (
    <section className="panel" aria-labelledby="waste">
      <div className="between">
        <h2 id="waste">Potential waste</h2>
        {report.data !== undefined && (
          <ExportMenu
            title="Potential waste"
            columns={[toTextColumn(step, step), ...FILE_FIGURES]}
            rows={report.data.rows}
            filters={report.data.filters}
            time={time}
            part={{ kind: 'insights' }}
          />
        )}
      </div>
      <Answered of={report}>
        {({ totals, rows, breakdowns, filters }) => (
          <>
            <p className="waste-total">
              <strong>
                <Money value={totals.waste_usd} />
              </strong>{' '}
              of <Money value={totals.cost_usd} />
              {totals.waste_share !== null && (
                <>
                  {' '}
                  (<Percent value={totals.waste_share} />)
                </>
              )}
              <span className="muted">
                {' '}
                in <Count value={totals.findings} /> findings. Expired caches and repeats, each response once. Measured,
                not estimated.
                {totals.dismissed_findings > 0 && (
                  <>
                    {' '}
                    {formatCount(totals.dismissed_findings)} dismissed, <Money value={totals.dismissed_usd} />.
                  </>
                )}
              </span>
            </p>
            {totals.findings > 0 && (
              <div className="waste-parts">
                <Course rows={rows} step={step} period={filter} asked={{ filters, time }} />
                {DIMENSIONS.map(([dimension, title], index) => (
                  <Part
                    key={dimension}
                    dimension={dimension}
                    title={title}
                    rows={breakdowns?.[index]?.rows ?? []}
                    asked={{ filters, time }}
                  />
                ))}
              </div>
            )}
          </>
        )}
      </Answered>
    </section>
  );
}

interface CourseProps {
  rows: Report['rows'];
  step: 'day' | 'week';
  period: Period;
  asked: Asked;
}

function Course({ rows, step, period, asked }: CourseProps): ReactNode {
  const byTime = new Map(rows.map((row) => [row[step] ?? '', row.waste_usd]));
  const times = fillTimes([...byTime.keys()].filter(Boolean), step, period);
  if (times.length === 0) return null;
  const values = times.map((time) => byTime.get(time) ?? null);
  return (
    <figure>
      <figcaption className="between muted">
        Potential waste by {step}
        <ExportMenu
          title={`Potential waste by ${step}`}
          columns={[toTextColumn(step, step), ...FILE_FIGURES]}
          rows={rows}
          isOfFigure
          {...asked}
        />
      </figcaption>
      <BarChart
        label="Potential waste"
        times={times}
        step={step}
        series={[{ color: '3', label: 'Potential waste', values }]}
        totals={times.map((time) => byTime.get(time))}
        formatValue={formatMoney}
        formatTick={formatMoneyTick}
      />
    </figure>
  );
}

interface PartProps {
  dimension: (typeof DIMENSIONS)[number][0];
  title: string;
  rows: Report['rows'];
  asked: Asked;
}

function Part({ dimension, title, rows, asked }: PartProps): ReactNode {
  const names = rows.map((row) => row[dimension] ?? null);
  const found = rows.filter(({ findings }) => findings > 0);
  const shown = found.slice(0, SHOWN_ROWS);
  return (
    <div className="menu-above">
      <ExportMenu
        title={`Potential waste: ${title}`}
        columns={[toTextColumn(dimension, dimension), ...FILE_FIGURES]}
        rows={found}
        {...asked}
      />
      <PlainTable
        rows={shown}
        toKey={(row) => row[dimension] ?? ''}
        columns={[
          {
            head: title,
            className: 'clip insight-name',
            cell: (row) => (
              <NameLink dimension={dimension} name={row[dimension] ?? null} others={names} time={{ ...asked.time }} />
            ),
          },
          { head: 'Waste', isFigure: true, cell: ({ waste_usd }) => <Money value={waste_usd} /> },
          { head: 'Of cost', isFigure: true, cell: ({ waste_share }) => <Percent value={waste_share} /> },
        ]}
      />
    </div>
  );
}
