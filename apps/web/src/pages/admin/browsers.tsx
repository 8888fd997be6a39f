import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Answer, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Time } from '../../ui/figures.tsx';
import { Answered, Failure } from '../../ui/states.tsx';
import { WideTable } from './wide-table.tsx';

type SignIn = Answer<'/v1/sign-ins'>['sign_ins'][number];

const REFETCH_MS = 30_000;
const HEADS = ['Browser', 'Key', 'Signed in', 'Last used', 'Ends', 'State'];

/** The browsers that are signed in with keys of the workspace; they can be signed out. */
export function Browsers(): ReactNode {
  const list = useAnswer('/v1/sign-ins', {}, { refetchIntervalMs: REFETCH_MS });
  return (
    <section aria-labelledby="browsers">
      <h2 id="browsers">Signed-in browsers</h2>
      <p className="muted">
        A browser does not keep the key that it signed in with. It is signed out after 30 days, after 7 days without
        use, or when its key is revoked, expires or gets a new secret.
      </p>
      <Answered of={list}>
        {({ sign_ins: all }) => (
          <WideTable label="Signed-in browsers" columns={HEADS} rows={all}>
            {all.map((each) => (
              <Row key={each.id} signIn={each} />
            ))}
          </WideTable>
        )}
      </Answered>
    </section>
  );
}

function Row({ signIn }: { signIn: SignIn }): ReactNode {
  const { id, browser, key_id, key_name, created_at, last_used_at, expires_at, is_current: isCurrent } = signIn;
  const end = useMutation({
    mutationFn: () => send('delete', '/v1/sign-ins/{sign_in_id}', { parameters: { sign_in_id: id } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['/v1/sign-ins'] }),
  });
  const name = browser ?? 'a program without a name';
  return (
    <tr>
      <td title={id}>
        {name} {isCurrent && <span className="tag">this one</span>}
      </td>
      <td title={key_id}>{key_name}</td>
      <td>
        <Time iso={created_at} />
      </td>
      <td>
        <Time iso={last_used_at} />
      </td>
      <td>
        <Time iso={expires_at} />
      </td>
      <td>
        <button
          type="button"
          className="danger"
          disabled={isCurrent || end.isPending}
          title={isCurrent ? 'Use “Sign out” in the menu' : undefined}
          onClick={() => end.mutate()}
        >
          Sign out
          <span className="hidden-label">
            {' '}
            {name}, {key_name}
          </span>
        </button>
        {end.error !== null && <Failure error={end.error} />}
      </td>
    </tr>
  );
}
