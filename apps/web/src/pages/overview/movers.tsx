import type { ChangesReport } from '@recount/contract';
import type { ReactNode } from 'react';
import { toNoName, toPlainName } from '../../format/plain-name.ts';
import { formatCompact, formatCount, formatMoney } from '../../format/values.ts';
import { ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import { Money } from '../../ui/figures.tsx';
import { Answered } from '../../ui/states.tsx';
import { NameLink, readName, type SharedDimension } from './name-link.tsx';

type Row = ChangesReport['rows'][number];

const SHOWN_ROWS = 6;
/** A part explains a change if it is at least this much of it. */
const MIN_PART = 0.5;
/** Smaller changes are noise. */
const MIN_CHANGE_USD = 0.005;

/** The pairs of groups whose second one explains a change of the first one. */
const REASONS: Readonly<Record<SharedDimension, SharedDimension>> = {
  repository: 'person',
  person: 'repository',
  model: 'repository',
};

const FILE_COLUMNS = [
  ...['dimension', 'repository', 'person', 'model'].map((name) => toTextColumn(name, name)),
  ...toFigureColumns([
    { kind: 'amount', label: 'Change', path: 'change_usd' },
    { kind: 'money', label: 'Cost before', path: 'previous_cost_usd' },
    { kind: 'money', label: 'Cost', path: 'cost_usd' },
    { kind: 'count', label: 'Sessions before', path: 'previous_sessions' },
    { kind: 'count', label: 'Sessions', path: 'sessions' },
    { kind: 'tokens', label: 'Tokens before', path: 'previous_total_tokens' },
    { kind: 'tokens', label: 'Tokens', path: 'total_tokens' },
  ]),
];

/** The breakdowns that the movers are read from, besides the rows by repository. */
export const MOVER_BREAKDOWNS = ['person', 'model', 'repository,person', 'repository,model'];

interface MoversProps {
  of: { data: ChangesReport | undefined; error: unknown; refetch: () => unknown };
  before: string;
  time: Record<string, string>;
}

/** The largest differences to the period before, by repository, person and model, with the part that explains each. */
export function Movers({ of, before, time }: MoversProps): ReactNode {
  return (
    <section className="panel" aria-labelledby="movers">
      <div className="between">
        <h2 id="movers">What changed</h2>
        <span className="row muted">
          vs {before}
          {of.data !== undefined && (
            <ExportMenu
              title="What changed"
              columns={FILE_COLUMNS}
              rows={listMovers(of.data).map(({ dimension, row }) => ({ ...row, dimension }))}
              filters={of.data.filters}
              time={time}
            />
          )}
        </span>
      </div>
      <Answered of={of}>
        {(report) => {
          const movers = listMovers(report);
          return movers.length === 0 ? (
            <p className="muted">Nothing of note: no repository, person or model costs more or less.</p>
          ) : (
            <>
              <ul className="movers">
                {movers.map((mover) => (
                  <Mover
                    key={`${mover.dimension} ${readName(mover.row, mover.dimension)}`}
                    {...mover}
                    report={report}
                    time={time}
                  />
                ))}
              </ul>
              <p className="muted movers-note">The same cost is in its repository, its person and its model.</p>
            </>
          );
        }}
      </Answered>
    </section>
  );
}

const listRows = ({ rows, breakdowns }: ChangesReport, keys: string): Row[] =>
  keys === 'repository' ? rows : (breakdowns?.find(({ group_by }) => group_by.join() === keys)?.rows ?? []);

const toSize = ({ change_usd }: Row): number => Math.abs(change_usd ?? 0);

function listMovers(report: ChangesReport): { dimension: SharedDimension; row: Row }[] {
  return (Object.keys(REASONS) as SharedDimension[])
    .flatMap((dimension) => listRows(report, dimension).map((row) => ({ dimension, row })))
    .filter(({ row }) => toSize(row) >= MIN_CHANGE_USD)
    .sort((a, b) => toSize(b.row) - toSize(a.row))
    .slice(0, SHOWN_ROWS);
}

/** The part that makes up most of a change, if there is one. */
function findReason(report: ChangesReport, dimension: SharedDimension, { change_usd, ...row }: Row): Row | undefined {
  const keys = dimension === 'model' ? 'repository,model' : 'repository,person';
  const [largest] = listRows(report, keys)
    .filter((part) => readName(part, dimension) === readName(row, dimension))
    .sort((a, b) => toSize(b) - toSize(a));
  const [part, whole] = [largest?.change_usd ?? 0, change_usd ?? 0];
  return part * whole > 0 && Math.abs(part) >= MIN_PART * Math.abs(whole) ? largest : undefined;
}

interface MoverProps {
  dimension: SharedDimension;
  row: Row;
  report: ChangesReport;
  time: Record<string, string>;
}

function Mover({ dimension, row, report, time }: MoverProps): ReactNode {
  const { change_usd, cost_usd, previous_cost_usd, sessions, previous_sessions } = row;
  const { total_tokens, previous_total_tokens } = row;
  const listNames = (of: SharedDimension) => listRows(report, of).map((each) => readName(each, of));
  const isMore = (change_usd ?? 0) > 0;
  const of = REASONS[dimension];
  const reason = findReason(report, dimension, row);
  return (
    <li>
      <span className="mover-change">
        <span className={isMore ? 'more' : 'less'} aria-hidden="true">
          {isMore ? '▲' : '▼'}
        </span>{' '}
        {isMore ? '+' : ''}
        <Money value={change_usd} />
      </span>
      <span>
        <span className="tag">{dimension}</span>{' '}
        <NameLink dimension={dimension} name={readName(row, dimension)} others={listNames(dimension)} time={time} />
      </span>
      <span className="mover-costs">
        <Money value={previous_cost_usd} /> → <Money value={cost_usd} />
      </span>
      <span className="muted mover-why">
        {reason !== undefined && (
          <>
            mostly {toShown(of, readName(reason, of), listNames(of))} ({(reason.change_usd ?? 0) > 0 ? '+' : ''}
            {formatMoney(reason.change_usd)}){' · '}
          </>
        )}
        {formatCount(previous_sessions)} → {formatCount(sessions)} sessions, {formatCompact(previous_total_tokens)} →{' '}
        {formatCompact(total_tokens)} tokens
      </span>
    </li>
  );
}

const toShown = (of: SharedDimension, name: string | null, others: readonly (string | null)[]): string =>
  name === null ? toNoName(of) : toPlainName(of, name, others);
