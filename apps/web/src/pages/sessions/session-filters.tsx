import { toVisible } from '@recount/contract/conversation';
import { type ReactNode, useEffect, useState } from 'react';
import { useAnswer } from '../../server-data/use-answer.ts';
import { useShowsAllTexts } from '../../server-data/use-shows.ts';
import { Dropdown } from '../../ui/dropdown.tsx';
import type { UrlChange, UrlState } from '../../ui/use-url-state.ts';
import { COLUMNS } from './columns.tsx';
import { LINKED_FILTERS } from './list-query.ts';

type Change = (change: UrlChange, options?: { replace?: boolean }) => void;

const TYPING_PAUSE_MS = 300;

/** URL parameters that do not filter sessions. */
const NO_FILTERS = ['sort', 'order', 'columns'];

/** The number of parameters of the URL that leave sessions out. */
export const countFilters = (state: UrlState): number =>
  Object.entries(state).filter(([name, value]) => !NO_FILTERS.includes(name) && !(name === 'period' && value === 'all'))
    .length;

/** The choice of the table's content, beside the time and filters of all pages. Each choice is a URL parameter. */
export function SessionFilters({
  state,
  change,
  columns,
}: {
  state: UrlState;
  change: Change;
  columns: string[];
}): ReactNode {
  const more = ['branch', 'min_cost_usd', 'max_cost_usd'].filter((name) => state[name] !== undefined).length;
  return (
    <div className="toolbar" role="group" aria-label="Filter sessions">
      <TextFilter label="Search prompts" name="prompt" state={state} change={change} />
      <label>
        Sub-agents
        <select value={state.subagents ?? 'exclude'} onChange={({ target }) => change({ subagents: target.value })}>
          <option value="exclude">Hide</option>
          <option value="include">Show</option>
          <option value="only">Only sub-agents</option>
        </select>
      </label>
      <button
        type="button"
        aria-pressed={state.is_starred !== undefined}
        onClick={() => change({ is_starred: state.is_starred === undefined ? 'true' : undefined })}
      >
        <span aria-hidden="true">★</span> Starred
      </button>
      <TagFilter state={state} change={change} />
      <Dropdown name="More filters" label={more === 0 ? 'More filters' : `More filters (${more})`} isActive={more > 0}>
        {() => (
          <div className="toolbar">
            <TextFilter label="Branch" name="branch" state={state} change={change} />
            <TextFilter label="Cost from" name="min_cost_usd" state={state} change={change} isNumber />
            <TextFilter label="Cost to" name="max_cost_usd" state={state} change={change} isNumber />
          </div>
        )}
      </Dropdown>
      <ColumnChoice columns={columns} change={change} />
      {LINKED_FILTERS.map(
        ([name, label]) =>
          state[name] !== undefined && (
            <button
              key={name}
              type="button"
              aria-pressed
              className="linked-filter"
              onClick={() => change({ [name]: undefined })}
            >
              {label}: {state[name]} <span aria-hidden="true">×</span>
              <span className="hidden-label">, remove this filter</span>
            </button>
          ),
      )}
    </div>
  );
}

/** Not shown while no session has a tag. */
function TagFilter({ state, change }: { state: UrlState; change: Change }): ReactNode {
  const { data } = useAnswer('/v1/session-tags', {}, { isEnabled: useShowsAllTexts() });
  const known = data?.tags.map(({ tag }) => tag) ?? [];
  const tags = state.tag === undefined || known.includes(state.tag) ? known : [state.tag, ...known];
  if (tags.length === 0) return null;
  return (
    <label>
      Tag
      <select value={state.tag ?? ''} onChange={({ target }) => change({ tag: target.value || undefined })}>
        <option value="">Any</option>
        {tags.map((tag) => (
          <option key={tag} value={tag}>
            {toVisible(tag)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Takes effect when the user stops typing. */
function TextFilter({
  label,
  name,
  state,
  change,
  isNumber = false,
}: {
  label: string;
  name: string;
  state: UrlState;
  change: Change;
  isNumber?: boolean;
}): ReactNode {
  const applied = state[name] ?? '';
  const [text, setText] = useState(applied);
  useEffect(() => setText(applied), [applied]);
  useEffect(() => {
    if (text === applied) return;
    const timer = setTimeout(() => change({ [name]: text }, { replace: true }), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, applied, change, name]);
  return (
    <label>
      {label}
      <input
        {...(isNumber ? { type: 'number', min: 0, step: 'any', className: 'number' } : { type: 'search' })}
        value={text}
        maxLength={1000}
        onChange={({ target }) => setText(target.value)}
      />
    </label>
  );
}

function ColumnChoice({ columns, change }: { columns: string[]; change: Change }): ReactNode {
  const toggle = (id: string): void => {
    const next = columns.includes(id) ? columns.filter((each) => each !== id) : [...columns, id];
    change({ columns: next.join(',') || 'title' }, { replace: true });
  };
  return (
    <Dropdown name="Columns" label="Columns">
      {() =>
        COLUMNS.slice(1).map(({ id, label }) => (
          <label key={id} className="row">
            <input type="checkbox" checked={columns.includes(id)} onChange={() => toggle(id)} /> {label}
          </label>
        ))
      }
    </Dropdown>
  );
}
