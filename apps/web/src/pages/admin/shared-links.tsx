import type { Share } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Count, Time } from '../../ui/figures.tsx';
import { Answered, Failure } from '../../ui/states.tsx';
import { WideTable } from './wide-table.tsx';

const REFETCH_MS = 15_000;
const MAX_LINKS = 200;
const HEADS = ['Shows', 'Change', 'Ends', 'Opened', 'Last opened', 'Created', 'By'];

/** Links that show a session or a view of figures to anyone who has them. */
export function SharedLinks(): ReactNode {
  const list = useAnswer('/v1/shares', { limit: MAX_LINKS }, { refetchIntervalMs: REFETCH_MS });
  return (
    <section aria-labelledby="shared-links">
      <h2 id="shared-links">Shared links</h2>
      <p className="muted">
        Anyone with a link can read what it shows without a key. “Share …” on a session and “Share this view …” in
        Export menus create links.
      </p>
      <Answered of={list}>
        {({ shares, next_cursor: next }) =>
          shares.length === 0 ? (
            <p className="muted">No links yet.</p>
          ) : (
            <>
              <WideTable label="Shared links" columns={HEADS} rows={shares}>
                {shares.map((share) => (
                  <Row key={share.id} share={share} />
                ))}
              </WideTable>
              {next !== null && <p className="muted">The latest {MAX_LINKS}; recount share list has all.</p>}
            </>
          )
        }
      </Answered>
    </section>
  );
}

function Row({ share }: { share: Share }): ReactNode {
  const { id, session_id, view, created_at, actor, expires_at, revoked_at, opened_count, last_opened_at } = share;
  const revoke = useMutation({
    mutationFn: () => send('delete', '/v1/shares/{share_id}', { parameters: { share_id: id } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['/v1/shares'] }),
  });
  const name = view?.title ?? session_id ?? id;
  return (
    <tr>
      <td title={id}>
        {session_id === null ? (
          <>
            {toVisible(name)} <span className="tag">figures</span>
          </>
        ) : (
          <Link to="/sessions/$sessionId" params={{ sessionId: session_id } as never}>
            {toVisible(session_id)}
          </Link>
        )}
      </td>
      <td>
        {revoked_at !== null ? (
          'revoked'
        ) : Date.parse(expires_at) <= Date.now() ? (
          'expired'
        ) : (
          <button type="button" className="danger" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
            Revoke<span className="hidden-label"> {name}</span>
          </button>
        )}
        {revoke.error !== null && <Failure error={revoke.error} />}
      </td>
      <td>
        <Time iso={revoked_at ?? expires_at} />
      </td>
      <td>
        <Count value={opened_count} />
      </td>
      <td>
        <Time iso={last_opened_at} />
      </td>
      <td>
        <Time iso={created_at} />
      </td>
      <td>{actor}</td>
    </tr>
  );
}
