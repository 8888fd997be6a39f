import type { Budget } from '@recount/contract';
import { type ReactNode, useState } from 'react';
import { DIMENSIONS, readFilters } from '../../format/dimensions.ts';
import { readStoredViews } from '../../ui/stored-views.ts';
import { parseSearch } from '../../ui/use-url-state.ts';

type Filters = Budget['filters'];

/** Filters that the fields do not have, such as sub-agents, are kept in this one as JSON. */
const OTHERS = 'other-filters';
const NAMES: readonly string[] = DIMENSIONS.map(({ name }) => name);

/** Fields of a form for what is counted. A view of sessions that is saved in this browser fills them. */
export function CountedFields({ filters: given = {} }: { filters?: Filters }): ReactNode {
  const [views] = useState(readStoredViews);
  const [{ filters, version }, fill] = useState({ filters: given, version: 0 });
  const others = Object.fromEntries(Object.entries(filters).filter(([name]) => !NAMES.includes(name)));
  const choose = (position: string): void => {
    const view = views[Number(position)];
    if (position !== '' && view !== undefined)
      fill({ filters: readFilters(parseSearch(view.search)), version: version + 1 });
  };
  return (
    <fieldset>
      <legend>Counts only (empty: everything)</legend>
      {views.length > 0 && (
        <label>
          From a saved view
          <select defaultValue="" onChange={({ target }) => choose(target.value)}>
            <option value="">none</option>
            {views.map(({ name }, position) => (
              <option key={name} value={position}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      {DIMENSIONS.map(({ name, label }) => {
        const values = [filters[name] ?? ''].flat();
        return values.map((value, position) => (
          <label key={`${version} ${name} ${value}`}>
            {position === 0 ? label : `or ${label.toLowerCase()}`}
            <input name={name} maxLength={255} defaultValue={value} />
          </label>
        ));
      })}
      <input type="hidden" name={OTHERS} value={JSON.stringify(others)} />
    </fieldset>
  );
}

/** The filters that such a form says. */
export function readCounted(data: FormData): Filters {
  const filters = JSON.parse(String(data.get(OTHERS))) as Filters;
  for (const name of NAMES) {
    const values = data
      .getAll(name)
      .map((value) => String(value).trim())
      .filter((value) => value !== '');
    const [first] = values;
    if (first !== undefined) filters[name] = values.length === 1 ? first : values;
  }
  return filters;
}
