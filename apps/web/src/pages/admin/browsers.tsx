import type { ReactNode } from 'react';
import { type Answer, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Time } from '../../ui/figures.tsx';
import type { PlainColumn } from '../../ui/plain-table.tsx';
import { Answered } from '../../ui/states.tsx';
import { WideTable } from './wide-table.tsx';

type SignIn = Answer<'/v1/sign-ins'>['sign_ins'][number];

const REFETCH_MS = 30_000;
const toName = ({ browser }: SignIn): string => browser ?? 'a program without a name';
const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['/v1/sign-ins'] });

const COLUMNS: readonly PlainColumn<SignIn>[] = [
  {
    head: 'Browser',
    title: ({ id }) => id,
    cell: (each) => (
      <>
        {toName(each)} {each.is_current && <span className="tag">this one</span>}
      </>
    ),
  },
  { head: 'Key', title: ({ key_id }) => key_id, cell: ({ key_name }) => key_name },
  { head: 'Signed in', cell: ({ created_at }) => <Time iso={created_at} /> },
  { head: 'Last used', cell: ({ last_used_at }) => <Time iso={last_used_at} /> },
  { head: 'Ends', cell: ({ expires_at }) => <Time iso={expires_at} /> },
  {
    head: 'State',
    cell: (each) => (
      <ActButton
        label="Sign out"
        about={`${toName(each)}, ${each.key_name}`}
        act={() => send('delete', '/v1/sign-ins/{sign_in_id}', { parameters: { sign_in_id: each.id } })}
        refresh={refresh}
        isDanger
        isDisabled={each.is_current}
        title={each.is_current ? 'Use “Sign out” in the menu' : undefined}
      />
    ),
  },
];

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
          <WideTable label="Signed-in browsers" columns={COLUMNS} rows={all} toKey={({ id }) => id} />
        )}
      </Answered>
    </section>
  );
}
