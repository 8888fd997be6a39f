import { type ReactNode, useEffect, useId, useState, useSyncExternalStore } from 'react';
import { PERIODS, toDatesLabel } from '../../format/period.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import type { UrlChange, UrlState } from '../../ui/use-url-state.ts';
import { COLUMNS } from './columns.tsx';

type Change = (change: UrlChange, options?: { replace?: boolean }) => void;

const SUGGESTIONS = 200;
const TYPING_PAUSE_MS = 300;

const FIELDS = [
  ['agent', 'Agent', 'agent'],
  ['project', 'Project', 'project'],
  ['branch', 'Branch', 'git_branch'],
  ['model', 'Model', 'model'],
  ['person', 'Person', 'person'],
  ['machine', 'Machine', 'machine'],
] as const;

/** Filters set by links from other pages. They are shown only if set, and can be removed. */
export const LINKED_FILTERS = [
  ['tool', 'Tool'],
  ['program', 'Program'],
  ['mcp_server', 'MCP server'],
  ['skill', 'Skill'],
  ['subagent_type', 'Sub-agent'],
  ['file', 'File'],
  ['pull_request', 'Pull request'],
  ['repository', 'Repository'],
] as const;

/** The phone width of the style sheets. */
const PHONE = matchMedia('(max-width: 760px)');

function subscribeToPhone(listener: () => void): () => void {
  PHONE.addEventListener('change', listener);
  return () => PHONE.removeEventListener('change', listener);
}

/** URL parameters that do not filter sessions. */
const NO_FILTERS = ['sort', 'order', 'columns'];

/** The number of parameters of the URL that leave sessions out. */
export const countFilters = (state: UrlState): number =>
  Object.entries(state).filter(([name, value]) => !NO_FILTERS.includes(name) && !(name === 'period' && value === 'all'))
    .length;

/**
 * The choice of the table's content. Each choice is a URL parameter. Collapsed if they would take half of the screen.
 */
export function SessionFilters(props: { state: UrlState; change: Change; columns: string[] }): ReactNode {
  const isPhone = useSyncExternalStore(subscribeToPhone, () => PHONE.matches);
  if (!isPhone) return <FilterBar {...props} />;
  const count = countFilters(props.state);
  return (
    <details className="folded-filters">
      <summary>{count === 0 ? 'Filters and columns' : `Filters and columns (${count} set)`}</summary>
      <FilterBar {...props} />
    </details>
  );
}

function FilterBar({ state, change, columns }: { state: UrlState; change: Change; columns: string[] }): ReactNode {
  const dates = toDatesLabel(state);
  return (
    <div className="toolbar" role="search" aria-label="Filter sessions">
      <TextFilter label="Search prompts" name="prompt" state={state} change={change} />
      {FIELDS.map(([name, label, key]) => (
        <ValueFilter key={name} name={name} label={label} groupBy={key} state={state} change={change} />
      ))}
      <TextFilter label="Cost from" name="min_cost_usd" state={state} change={change} isNumber />
      <TextFilter label="Cost to" name="max_cost_usd" state={state} change={change} isNumber />
      <label>
        Time
        <select
          value={dates ?? state.period ?? 'all'}
          onChange={({ target }) => change({ period: target.value, from: undefined, to: undefined })}
        >
          {/* Chosen on another page, or by a link. It can be replaced here. */}
          {dates !== undefined && <option value={dates}>{dates}</option>}
          {PERIODS.map(([id, label]) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label>
        Sub-agents
        <select value={state.subagents ?? 'exclude'} onChange={({ target }) => change({ subagents: target.value })}>
          <option value="exclude">Hide</option>
          <option value="include">Show</option>
          <option value="only">Only sub-agents</option>
        </select>
      </label>
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

/** Takes effect when the user stops typing. */
function TextFilter({
  label,
  name,
  state,
  change,
  list,
  isNumber = false,
  onFocus,
}: {
  label: string;
  name: string;
  state: UrlState;
  change: Change;
  list?: string;
  isNumber?: boolean;
  onFocus?: () => void;
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
        {...(isNumber ? { type: 'number', min: 0, step: 'any', className: 'number' } : { type: 'search', list })}
        value={text}
        maxLength={1000}
        onFocus={onFocus}
        onChange={({ target }) => setText(target.value)}
      />
    </label>
  );
}

/** Offers the workspace's values of all times, most expensive first; asks for them once the field has the focus. */
function ValueFilter({
  name,
  label,
  groupBy,
  state,
  change,
}: {
  name: string;
  label: string;
  groupBy: string;
  state: UrlState;
  change: Change;
}): ReactNode {
  const listId = useId();
  const [isWanted, setIsWanted] = useState(false);
  const values = useAnswer('/v1/analytics/usage', { group_by: groupBy, limit: SUGGESTIONS }, { isEnabled: isWanted });
  const rows = values.data?.rows ?? [];
  return (
    <>
      <TextFilter
        label={label}
        name={name}
        state={state}
        change={change}
        list={listId}
        onFocus={() => setIsWanted(true)}
      />
      <datalist id={listId}>
        {rows.map((row) => {
          const value = row[groupBy as 'model'];
          return value === null || value === undefined ? null : <option key={value} value={value} />;
        })}
      </datalist>
    </>
  );
}

function ColumnChoice({ columns, change }: { columns: string[]; change: Change }): ReactNode {
  const toggle = (id: string): void => {
    const next = columns.includes(id) ? columns.filter((each) => each !== id) : [...columns, id];
    change({ columns: next.join(',') || 'title' }, { replace: true });
  };
  return (
    <details className="columns">
      <summary>Columns</summary>
      <div className="popover" role="group" aria-label="Columns">
        {COLUMNS.slice(1).map(({ id, label }) => (
          <label key={id} className="row">
            <input type="checkbox" checked={columns.includes(id)} onChange={() => toggle(id)} /> {label}
          </label>
        ))}
      </div>
    </details>
  );
}
