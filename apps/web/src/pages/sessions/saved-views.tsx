import { Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { NO_TIME } from '../../format/period.ts';
import { parseSearch, stringifySearch, type UrlState } from '../../ui/use-url-state.ts';

/** Stored in this browser, for this recount address. A view is a name and the page's parameters. */
const STORAGE_KEY = 'recount.session-views';
const MAX_VIEWS = 50;

interface View {
  name: string;
  /** Query of the URL, including `?`; empty means everything. */
  search: string;
}

function readViews(): View[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '[]');
    if (!Array.isArray(stored)) return [];
    return stored.filter((view): view is View => typeof view?.name === 'string' && typeof view?.search === 'string');
  } catch {
    // Written by something else, or the browser's storage is disabled.
    return [];
  }
}

/** Named filters, columns and sort order, to come back to. */
export function SavedViews({ state }: { state: UrlState }): ReactNode {
  const [views, setViews] = useState(readViews);
  const keep = (next: View[]): void => {
    setViews(next);
    localStorage.setItem(STORAGE_KEY, JSON.stringify(next));
  };
  const onSubmit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const name = String(new FormData(form).get('name')).trim();
    if (name === '') return;
    const others = views.filter((view) => view.name !== name);
    keep([...others, { name, search: stringifySearch(state) }].slice(-MAX_VIEWS));
    form.reset();
  };
  return (
    <details className="columns">
      <summary>Views</summary>
      <div className="popover views" role="group" aria-label="Saved views">
        {views.length === 0 && <p className="muted">Save these filters, columns and order under a name.</p>}
        {views.map(({ name, search }) => (
          <div key={name} className="between">
            <Link to="/sessions" search={{ ...NO_TIME, ...parseSearch(search) } as never}>
              {name}
            </Link>
            <button
              type="button"
              className="quiet"
              aria-label={`Remove the view ${name}`}
              onClick={() => keep(views.filter((view) => view.name !== name))}
            >
              ×
            </button>
          </div>
        ))}
        <form className="row" onSubmit={onSubmit}>
          <input name="name" aria-label="Name of the view" placeholder="Name" maxLength={80} required />
          <button type="submit">Save</button>
        </form>
      </div>
    </details>
  );
}
