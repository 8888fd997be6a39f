import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { NO_VIEW } from '../../format/dimensions.ts';
import { Dropdown } from '../../ui/dropdown.tsx';
import { Form } from '../../ui/form.tsx';
import { readStoredViews, type StoredView, storeViews } from '../../ui/stored-views.ts';
import { parseSearch, stringifySearch, type UrlState } from '../../ui/use-url-state.ts';

/** Named filters, columns and sort order, to come back to. */
export function SavedViews({ state }: { state: UrlState }): ReactNode {
  const [views, setViews] = useState(readStoredViews);
  const keep = (next: StoredView[]): void => setViews(storeViews(next));
  const submit = (form: HTMLFormElement): void => {
    const name = String(new FormData(form).get('name')).trim();
    if (name === '') return;
    const others = views.filter((view) => view.name !== name);
    keep([...others, { name, search: stringifySearch(state) }]);
    form.reset();
  };
  return (
    <Dropdown name="Saved views" label="Views">
      {() => (
        <>
          {views.length === 0 && <p className="muted">Save these filters, columns and order under a name.</p>}
          {views.map(({ name, search }) => (
            <div key={name} className="between">
              <Link to="/sessions" search={{ ...NO_VIEW, ...parseSearch(search) } as never}>
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
          <Form className="row" submit={submit}>
            <input name="name" aria-label="Name of the view" placeholder="Name" maxLength={80} required />
            <button type="submit">Save</button>
          </Form>
        </>
      )}
    </Dropdown>
  );
}
