import { toReturnPath } from '@recount/contract/return-path';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { ApiError, keepOwnPage, keepPageSecret, leaveDemo, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Form } from '../../ui/form.tsx';
import { useUrlState } from '../../ui/use-url-state.ts';
import { finishSignIn, isProviderAnswer, openProvider } from './provider-sign-in.ts';

type SignInRoute = '/v1/sign-in' | '/v1/sign-in/link';

function enter(page: string, next: string | undefined): void {
  keepPageSecret(page);
  queryClient.clear();
  // Not by the router, because a full reload discards everything of the previous user. Only to a path on this server,
  // because a link must not redirect elsewhere.
  location.replace(toReturnPath(next));
}

async function signIn(route: SignInRoute, secret: string, next: string | undefined): Promise<void> {
  const { page } = await send('post', route, { headers: { authorization: `Bearer ${secret}` } });
  enter(page, next);
}

async function signInByAnswer(response: string): Promise<void> {
  const { page, next } = await finishSignIn(response);
  enter(page, next);
}

interface Fault {
  message: string;
  /** True if the person tried a key or a link. */
  isOfKey: boolean;
}

/** After the code of a link that a person has to confirm. */
const CONFIRM = 'confirm';

/** Signs in with what the address has, and runs what a person chooses. */
function useSignIn(next: string | undefined, demo: string | undefined) {
  const [fault, setFault] = useState<Fault>();
  const [isBusy, setBusy] = useState(false);
  const hasTried = useRef(false);
  const [invitation, setInvitation] = useState<string>();

  const run = (work: Promise<void>, isOfKey: boolean): void => {
    setBusy(true);
    setFault(undefined);
    work.catch((failure: Error) => {
      if (demo !== undefined) leaveDemo();
      const isForeign = !isOfKey && !(failure instanceof ApiError);
      setFault({ message: isForeign ? `${failure.message}. Sign in again` : failure.message, isOfKey });
      setBusy(false);
    });
  };
  useEffect(() => {
    const { hash, search, pathname } = location;
    const isAnswer = isProviderAnswer(search);
    if ((hash.length <= 1 && !isAnswer) || hasTried.current) return;
    hasTried.current = true;
    const [code = '', ...options] = hash.slice(1).split('&');
    // Chat programs and mail filters open links, too, so this one stays until a person clicks.
    if (options.includes(CONFIRM)) return setInvitation(code);
    // A code must not stay in the history.
    history.replaceState(null, '', isAnswer ? '/sign-in' : pathname + search);
    if (isAnswer) return run(signInByAnswer(pathname + search), false);
    if (demo !== undefined) keepOwnPage();
    run(signIn('/v1/sign-in/link', code, next), true);
  });
  const accept = (code: string): void => {
    history.replaceState(null, '', location.pathname + location.search);
    setInvitation(undefined);
    run(signIn('/v1/sign-in/link', code, next), true);
  };
  return { accept, fault, invitation, isBusy, run };
}

/**
 * Signs in with a provider or an API key, or with the code of a link: automatically (`/sign-in#…`), or after a click
 * (`/sign-in#…&confirm`).
 */
export function SignInPage(): ReactNode {
  const [{ next, demo }] = useUrlState();
  const providers = useAnswer('/v1/sign-in/providers', {}).data?.providers ?? [];
  const { accept, fault, invitation, isBusy, run } = useSignIn(next, demo);
  const submit = (form: HTMLFormElement): void =>
    run(signIn('/v1/sign-in', String(new FormData(form).get('key') ?? '').trim(), next), true);
  if (invitation !== undefined) return <Invitation accept={() => accept(invitation)} />;
  return (
    <Form className="sign-in" submit={submit}>
      <h1>recount</h1>
      {providers.map(({ id, name }) => (
        <button
          key={id}
          type="button"
          className="primary"
          disabled={isBusy}
          onClick={() => run(openProvider(id, next), false)}
        >
          Sign in with {name}
        </button>
      ))}
      <label htmlFor="key">API key</label>
      <input id="key" name="key" type="password" autoComplete="current-password" placeholder="rk_…" required />
      <button type="submit" className={providers.length === 0 ? 'primary' : ''} disabled={isBusy}>
        {isBusy ? 'Signing in …' : providers.length === 0 ? 'Sign in' : 'Sign in with the key'}
      </button>
      {fault !== undefined && <FaultNote {...fault} />}
      <p className="muted">
        Use a key that reads, or a link that an admin makes for you. You stay signed in for 30 days, or 7 days without
        use, and at most as long as the key is valid. The browser does not keep the key.
      </p>
    </Form>
  );
}

const Invitation = ({ accept }: { accept: () => void }): ReactNode => (
  <div className="sign-in">
    <h1>recount</h1>
    <p>This link signs this browser in to the dashboard. It works once.</p>
    <button type="button" className="primary" onClick={accept}>
      Sign in
    </button>
  </div>
);

const FaultNote = ({ message, isOfKey }: Fault): ReactNode => (
  <p className="failure" role="alert">
    {message}.{' '}
    {isOfKey && (
      <>
        <code>npm start</code> or <code>recount up</code> prints a key and a new link; <code>recount keys create</code>{' '}
        makes a key.
      </>
    )}
  </p>
);
