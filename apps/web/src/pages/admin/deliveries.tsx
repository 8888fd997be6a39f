import type { Delivery } from '@recount/contract';
import { DELIVERY_STATES } from '@recount/contract/choices';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Time } from '../../ui/figures.tsx';
import type { PlainColumn } from '../../ui/plain-table.tsx';
import { Answered, Failure } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/use-url-state.ts';
import { DestinationNames } from './destination-fields.tsx';
import { WideTable } from './wide-table.tsx';

const REFETCH_MS = 5000;
const SHOWN_DELIVERIES = 50;

const STATE_WORDS: Readonly<Record<Delivery['state'], string>> = {
  waiting: 'Waiting',
  sent: 'Sent',
  failed: 'Given up',
};

const toDigest = ({ payload: { name, from } }: Delivery): string => `${name}, from ${from}`;

/** Reads the messages again. */
export const refreshDeliveries = (): void => void queryClient.invalidateQueries({ queryKey: ['/v1/deliveries'] });

/** The latest messages to destinations, of all kinds or of one, with what failed and can be tried again. */
export function Deliveries({ event }: { event?: 'digest.due' }): ReactNode {
  const [{ messages }, change] = useUrlState();
  const state = DELIVERY_STATES.find((each) => each === messages);
  const query = { limit: SHOWN_DELIVERIES, ...(event && { event }), ...(state && { state }) };
  const deliveries = useAnswer('/v1/deliveries', query, { refetchIntervalMs: REFETCH_MS });
  const retry = useMutation({
    mutationFn: (id: string) => send('post', '/v1/deliveries/{delivery_id}/retry', { parameters: { delivery_id: id } }),
    onSuccess: refreshDeliveries,
  });
  return (
    <>
      <h3>Messages</h3>
      <div className="segments" role="group" aria-label="Which messages">
        {[undefined, ...DELIVERY_STATES].map((each) => (
          <button
            key={each ?? 'all'}
            type="button"
            aria-pressed={each === state}
            onClick={() => change({ messages: each })}
          >
            {each === undefined ? 'All' : STATE_WORDS[each]}
          </button>
        ))}
      </div>
      <Answered of={deliveries}>
        {({ deliveries: all }) =>
          all.length === 0 ? (
            <p className="muted">{state === undefined ? 'No messages yet.' : 'No messages in this state.'}</p>
          ) : (
            <WideTable label="Messages" columns={toColumns(event, retry)} rows={all} toKey={({ id }) => id} />
          )
        }
      </Answered>
      {retry.error !== null && <Failure error={retry.error} />}
    </>
  );
}

const toColumns = (
  event: 'digest.due' | undefined,
  retry: { isPending: boolean; mutate: (id: string) => void },
): PlainColumn<Delivery>[] => [
  { head: 'Made', cell: ({ created_at }) => <Time iso={created_at} /> },
  { head: 'To', cell: ({ destination_id }) => <DestinationNames ids={[destination_id]} /> },
  event === undefined ? { head: 'Event', cell: (each) => each.event } : { head: 'Digest', cell: toDigest },
  {
    head: 'State',
    cell: ({ state }) =>
      state === 'failed' ? <span className="tag error">{STATE_WORDS[state]}</span> : STATE_WORDS[state],
  },
  { head: 'Attempts', cell: ({ attempts }) => attempts },
  { head: 'Last failure', cell: ({ failure_reason }) => failure_reason ?? '' },
  {
    head: 'Actions',
    cell: ({ id, state }) =>
      state === 'failed' && (
        <button type="button" disabled={retry.isPending} onClick={() => retry.mutate(id)}>
          Try again
        </button>
      ),
  },
];
