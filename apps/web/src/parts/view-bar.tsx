import './view-bar.css';
import { PERIODS } from '@recount/contract/periods';
import { type ReactNode, useState } from 'react';
import { DIMENSIONS, type Dimension, readFilters, SEPARATOR, toValueLabel, toValues } from '../format/dimensions.ts';
import { readPeriod, toDatesLabel } from '../format/period.ts';
import { formatCounted, formatMoney, TIME_ZONE } from '../format/values.ts';
import type { Answer } from '../server-data/client.ts';
import { useAnswer } from '../server-data/use-answer.ts';
import { useShowsFigures } from '../server-data/use-shows.ts';
import { Dropdown } from '../ui/dropdown.tsx';
import { Form } from '../ui/form.tsx';
import { Answered } from '../ui/states.tsx';
import type { View } from './use-view.ts';

type BarProps = Pick<View, 'state' | 'change' | 'fallback'>;

/** The time and the filters of a page. All of them are in its URL, and links keep them. */
export function ViewBar({ state, change, fallback }: BarProps): ReactNode {
  // Its values are in a report of everyone.
  const hasValues = useShowsFigures();
  const chosen = DIMENSIONS.flatMap((dimension) =>
    toValues(state[dimension.name]).map((value) => ({ dimension, value })),
  );
  return (
    <div className="view-bar" role="search" aria-label="Time and filters">
      <div className="row">
        <PeriodChoice state={state} change={change} fallback={fallback} />
        {(hasValues ? DIMENSIONS : []).map((dimension) => {
          const { length } = toValues(state[dimension.name]);
          return (
            <Dropdown
              key={dimension.name}
              name={dimension.label}
              isActive={length > 0}
              label={length > 0 ? `${dimension.label} (${length})` : dimension.label}
            >
              {() => <ValueChoice dimension={dimension} state={state} change={change} fallback={fallback} />}
            </Dropdown>
          );
        })}
      </div>
      {chosen.length > 0 && (
        <ul className="chips" aria-label="Chosen filters">
          {chosen.map(({ dimension, value }) => (
            <li key={`${dimension.name} ${value}`}>
              <button
                type="button"
                className="chip"
                title={value}
                onClick={() => change(toggle(state, dimension, value))}
              >
                {dimension.label}: {toValueLabel(dimension, value)} <span aria-hidden="true">×</span>
                <span className="hidden-label">, remove this filter</span>
              </button>
            </li>
          ))}
          <li>
            <button
              type="button"
              className="quiet clear"
              onClick={() => change(Object.fromEntries(DIMENSIONS.map(({ name }) => [name, undefined])))}
            >
              Clear
            </button>
          </li>
        </ul>
      )}
    </div>
  );
}

/** The change of the URL that adds a value to a filter, or removes it. */
function toggle(state: BarProps['state'], { name }: Dimension, value: string): Record<string, string | undefined> {
  const values = toValues(state[name]);
  const next = values.includes(value) ? values.filter((each) => each !== value) : [...values, value];
  return { [name]: next.join(SEPARATOR) };
}

function PeriodChoice({ state, change, fallback }: BarProps): ReactNode {
  const dates = toDatesLabel(state);
  const { period = fallback } = state;
  const label = dates ?? PERIODS.find(({ id }) => id === period)?.label ?? 'All time';
  return (
    <Dropdown name="Time" label={label}>
      {(close) => (
        <>
          <div className="period-choice">
            {PERIODS.map(({ id, label: text }) => (
              <button
                key={id}
                type="button"
                aria-pressed={dates === undefined && id === period}
                onClick={() => {
                  change({ period: id, from: undefined, to: undefined });
                  close();
                }}
              >
                {text}
              </button>
            ))}
          </div>
          <Dates state={state} change={change} fallback={fallback} close={close} />
        </>
      )}
    </Dropdown>
  );
}

/** Days of the viewer, the last one included. */
function Dates({ state, change, fallback, close }: BarProps & { close: () => void }): ReactNode {
  const { from } = readPeriod(state, fallback);
  const submit = (form: HTMLFormElement): void => {
    const data = new FormData(form);
    const [first, last] = ['from', 'to'].map((name) => String(data.get(name)) || undefined);
    if (first === undefined && last === undefined) return;
    // In the order of time, whichever way round they were chosen.
    const isReversed = first !== undefined && last !== undefined && first > last;
    change({ from: isReversed ? last : first, to: isReversed ? first : last, period: undefined });
    close();
  };
  return (
    <Form className="period-dates" submit={submit}>
      <label>
        From
        <input type="date" name="from" defaultValue={state.from ?? from} />
      </label>
      <label>
        To
        <input type="date" name="to" defaultValue={state.to} />
      </label>
      <button type="submit">Show these days</button>
      <span className="muted">Days in {TIME_ZONE}</span>
    </Form>
  );
}

/** More values are found by typing. */
const SHOWN_VALUES = 500;

/** The values of a dimension in the period, with the other filters, the most expensive first. */
function ValueChoice({ dimension, state, change, fallback }: BarProps & { dimension: Dimension }): ReactNode {
  const { name, label } = dimension;
  const [text, setText] = useState('');
  const { [name]: own, ...others } = readFilters(state);
  const values = useAnswer('/v1/analytics/usage', {
    ...readPeriod(state, fallback),
    ...{ time_zone: TIME_ZONE, group_by: name, limit: SHOWN_VALUES },
    ...others,
  });
  const part = text.trim();
  const choose = (value: string): void => change(toggle(state, dimension, value), { replace: true });
  return (
    <>
      <input
        // biome-ignore lint/a11y/noAutofocus: the panel opens to choose here
        autoFocus
        type="search"
        aria-label={`Search ${label.toLowerCase()}`}
        placeholder="Search"
        maxLength={1000}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <Answered of={values}>
        {(answer) => <ValueList {...answer} own={own} dimension={dimension} part={part} choose={choose} />}
      </Answered>
    </>
  );
}

interface ValueListProps extends Pick<Answer<'/v1/analytics/usage'>, 'rows' | 'truncated'> {
  dimension: Dimension;
  /** The chosen values. */
  own: readonly string[] | undefined;
  /** The text to look for. */
  part: string;
  choose: (value: string) => void;
}

function ValueList({ dimension, rows, truncated, own, part, choose }: ValueListProps): ReactNode {
  const { name, label } = dimension;
  const isShown = (value: string): boolean => value.toLowerCase().includes(part.toLowerCase());
  const found = rows.flatMap((row) => {
    const value = (row as unknown as Record<string, string | null | undefined>)[name];
    return value == null ? [] : [{ value, ...row }];
  });
  const unlisted = (own ?? []).filter((value) => !found.some((each) => each.value === value));
  const shown = found.filter(({ value }) => isShown(value));
  return (
    <div className="value-list">
      {part !== '' && shown.length !== 1 && (
        <Value text={`All with “${part}”`} isChosen={own?.includes(part) === true} choose={() => choose(part)} />
      )}
      {unlisted
        .filter((value) => isShown(value) && value !== part)
        .map((value) => (
          <Value key={value} text={toValueLabel(dimension, value)} isChosen choose={() => choose(value)} />
        ))}
      {shown.map(({ value, sessions, own: usage }) => (
        <Value
          key={value}
          text={toValueLabel(dimension, value)}
          title={value}
          figures={`${formatCounted(sessions, 'session')} · ${formatMoney(usage.cost_usd)}`}
          isChosen={own?.includes(value) === true}
          choose={() => choose(value)}
        />
      ))}
      {shown.length === 0 && unlisted.length === 0 && (
        <p className="muted">
          {part === '' ? 'None in this period' : `No ${label.toLowerCase()} in this period matches “${part}”`}
        </p>
      )}
      {truncated && <p className="muted">The first {SHOWN_VALUES}; type a part of a name to find others.</p>}
    </div>
  );
}

function Value({
  text,
  title,
  figures,
  isChosen,
  choose,
}: {
  text: string;
  title?: string;
  figures?: string;
  isChosen: boolean;
  choose: () => void;
}): ReactNode {
  return (
    <label title={title}>
      <input type="checkbox" checked={isChosen} onChange={choose} />
      <span className="clip">{text}</span>
      {figures !== undefined && <span className="muted">{figures}</span>}
    </label>
  );
}

/** Says which names the filters mean, if a page cannot show it otherwise, and which mean none. */
export function MeantNames({
  filters,
}: {
  filters: { unmatched: readonly { value: string; message: string }[] };
}): ReactNode {
  if (filters.unmatched.length === 0) return null;
  return (
    <div className="unmatched" role="status">
      {filters.unmatched.map(({ value, message }) => (
        <p key={value}>{message}</p>
      ))}
    </div>
  );
}
