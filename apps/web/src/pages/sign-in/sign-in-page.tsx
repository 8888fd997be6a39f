import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { keepPageSecret, send } from '../../server-data/client.ts';
import { queryClient } from '../../server-data/use-answer.ts';
import { useUrlState } from '../../ui/use-url-state.ts';

/** Only a path on this server, because a link must not redirect elsewhere. */
const toSafePath = (next: string | undefined): string => (next !== undefined && /^\/(?![/\\])/.test(next) ? next : '/');

type SignInRoute = '/v1/sign-in' | '/v1/sign-in/link';

async function signIn(route: SignInRoute, secret: string, next: string | undefined): Promise<void> {
  const { page } = await send('post', route, { headers: { authorization: `Bearer ${secret}` } });
  keepPageSecret(page);
  queryClient.clear();
  // Not by the router, because a full reload discards everything of the previous user.
  location.replace(toSafePath(next));
}

/** Signs in with an API key, or automatically with the code of a link (`/sign-in#…`). */
export function SignInPage(): ReactNode {
  const [{ next }] = useUrlState();
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const hasTried = useRef(false);

  const submit = (route: SignInRoute, secret: string): void => {
    setBusy(true);
    setError(undefined);
    signIn(route, secret, next).catch((failure: Error) => {
      setError(failure.message);
      setBusy(false);
    });
  };
  useEffect(() => {
    const code = location.hash.slice(1);
    if (code === '' || hasTried.current) return;
    hasTried.current = true;
    history.replaceState(null, '', location.pathname + location.search);
    submit('/v1/sign-in/link', code);
  });
  const onSubmit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    submit('/v1/sign-in', String(new FormData(event.currentTarget).get('key') ?? '').trim());
  };
  return (
    <form className="sign-in" onSubmit={onSubmit}>
      <h1>recount</h1>
      <label htmlFor="key">API key</label>
      <input id="key" name="key" type="password" autoComplete="current-password" placeholder="rk_…" required />
      <button type="submit" className="primary" disabled={isBusy}>
        {isBusy ? 'Signing in …' : 'Sign in'}
      </button>
      {error !== undefined && (
        <p className="failure" role="alert">
          {error}. `npm start` or `recount up` prints a key and a new link; `recount keys create` makes a key.
        </p>
      )}
      <p className="muted">
        Use a key with <code>read</code> access. You stay signed in for 30 days, or 7 days without use, and at most as
        long as the key is valid. The browser does not keep the key.
      </p>
    </form>
  );
}
