import type { Share } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Count, Time } from '../../ui/figures.tsx';
import type { PlainColumn } from '../../ui/plain-table.tsx';
import { Answered } from '../../ui/states.tsx';
import { WideTable } from './wide-table.tsx';

const REFETCH_MS = 15_000;
const MAX_LINKS = 200;
const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['/v1/shares'] });

const COLUMNS: readonly PlainColumn<Share>[] = [
  { head: 'Shows', title: ({ id }) => id, cell: (share) => <Shown share={share} /> },
  { head: 'Change', cell: (share) => <Revocation share={share} /> },
  { head: 'Ends', cell: ({ revoked_at, expires_at }) => <Time iso={revoked_at ?? expires_at} /> },
  { head: 'Opened', cell: ({ opened_count }) => <Count value={opened_count} /> },
  { head: 'Last opened', cell: ({ last_opened_at }) => <Time iso={last_opened_at} /> },
  { head: 'Created', cell: ({ created_at }) => <Time iso={created_at} /> },
  { head: 'By', cell: ({ actor }) => actor },
];

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
              <WideTable label="Shared links" columns={COLUMNS} rows={shares} toKey={({ id }) => id} />
              {next !== null && <p className="muted">The latest {MAX_LINKS}; recount share list has all.</p>}
            </>
          )
        }
      </Answered>
    </section>
  );
}

const toName = ({ id, view, session_id }: Share): string => view?.title ?? session_id ?? id;

const Shown = ({ share }: { share: Share }): ReactNode =>
  share.session_id === null ? (
    <>
      {toVisible(toName(share))} <span className="tag">figures</span>
    </>
  ) : (
    <Link to="/sessions/$sessionId" params={{ sessionId: share.session_id } as never}>
      {toVisible(share.session_id)}
    </Link>
  );

function Revocation({ share }: { share: Share }): ReactNode {
  const { id, revoked_at, expires_at } = share;
  if (revoked_at !== null) return 'revoked';
  if (Date.parse(expires_at) <= Date.now()) return 'expired';
  return (
    <ActButton
      label="Revoke"
      about={toName(share)}
      act={() => send('delete', '/v1/shares/{share_id}', { parameters: { share_id: id } })}
      refresh={refresh}
      isDanger
    />
  );
}
